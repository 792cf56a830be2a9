/** Returns how often a property is tried: `count` in `npm test`, and KUBELOOP_FUZZ times as often in `npm run fuzz`. */
export function tries(count: number): number {
  return count * Number(process.env['KUBELOOP_FUZZ'] ?? 1)
}
