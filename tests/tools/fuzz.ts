/** Bun and Deno try a third: a property of plain code that holds on one runtime rarely fails on another. */
const SHARE = 'Deno' in globalThis || 'Bun' in globalThis ? 1 / 3 : 1

/**
 * Returns how often a property is tried: `count` in `npm test`, and KUBELOOP_FUZZ times as often in `npm run fuzz`.
 * `everywhere`: as often on each runtime, for a test that counts its cases.
 */
export function tries(count: number, where: 'shared' | 'everywhere' = 'shared'): number {
  return Math.ceil(count * Number(process.env['KUBELOOP_FUZZ'] ?? (where === 'shared' ? SHARE : 1)))
}
