"""Private updates: a classifier from parties' records, in a few rounds of noisy sums.

In each round the public model goes out, every party answers with one integer vector of bounded
length, and only the noisy sum of these is seen. All else is arithmetic on public points and such
sums. Read it in this order:

1. `recipe`: the public numbers of a run.
2. `clipping`: a party's vector, and by how much one unit of the data moves the sum.
3. `release`: the cost of a round, and its noise.
4. `party`, `curator`: the roles. `messages`: their messages.
5. `gains`, `course`, `fit`, `temperature`: from noisy sums to a model, at no charge.
6. `model`: the result of one call, which is `ensemble.rounds`.
"""
