// What Material leaves out for readers who use a keyboard or hear the page.
const mend = () => {
  document.querySelectorAll(".md-code__nav:not([aria-label])").forEach((nav, i) => {
    nav.setAttribute("aria-label", `Code block ${i + 1}`);
  });
  document.querySelectorAll(":is(.md-typeset__scrollwrap, .highlight-ipynb):not([tabindex])")
    .forEach(wide => wide.setAttribute("tabindex", "0"));
  document.querySelectorAll(".jp-OutputArea th:empty").forEach(corner => {
    corner.replaceWith(document.createElement("td"));
  });
};
new MutationObserver(mend).observe(document.documentElement, {childList: true, subtree: true});
mend();
