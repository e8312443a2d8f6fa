/** Learners' figures that are worth a chart, and how they are called. */
export const FIGURE_NAMES: Record<string, string> = {
  r2: "R²",
  mae: "MAE (s)",
  epsilon: "ε",
  loss: "loss",
  reward: "reward",
};
