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

// The slider of "Privacy on one page": the odds that an epsilon allows.
document.querySelectorAll(".epsilon").forEach((part) => {
  const [input, output] = [part.querySelector("input"), part.querySelector("output")];
  const show = () => {
    const epsilon = 10 ** input.value;
    const right = Math.ceil(1000 / (1 + Math.exp(-epsilon))) / 10;
    input.setAttribute("aria-valuetext", epsilon.toPrecision(2));
    output.value = `${epsilon.toPrecision(2)}: right at most ${right.toFixed(1)} % of the time`;
  };
  input.addEventListener("input", show);
  part.hidden = false;
  show();
});
