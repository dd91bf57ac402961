// What another coverage would have done: thresholds are quantiles of the calibration risks, one for each percent.

/** The slider's place for the coverage in force. */
export const deployed = (policy) => Math.min(100, Math.max(1, Math.round(policy.coverage * 100)));

/** The limit at a place of the slider. In its own place the policy's own one counts, to the last digit. */
export function limitAt(policy, percent) {
  return percent === deployed(policy) ? policy.threshold : policy.quantiles[percent - 1];
}

/** Whether an answer would be accepted; what has no risk is never accepted. */
export function acceptedAt(verdict, policy, percent) {
  if (percent === deployed(policy)) return verdict.accepted;
  return verdict.risk !== null && verdict.risk <= limitAt(policy, percent);
}

/** The lowest coverage that accepts this risk; null if none does. */
export function acceptedFrom(risk, policy) {
  const place = policy.quantiles.findIndex((limit) => risk <= limit);
  return place < 0 ? null : place + 1;
}

/** Whether a verdict was made under this very policy, so that its risk may be held against these limits. */
export function comparable(verdict, policy) {
  // What is corrected, or cannot be told, is not accepted at any coverage.
  if (["corrected", "cannot-be-told"].includes(verdict.verdict)) return false;
  return Boolean(policy?.quantiles) && verdict.accepted !== null && verdict.threshold === policy.threshold
    && (!verdict.model || !policy.model || verdict.model === policy.model);
}
