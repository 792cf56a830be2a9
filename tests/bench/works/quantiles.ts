/** Prints the median and the 99th percentile. */
export function printQuantiles(took: number[]): void {
  took.sort((a, b) => a - b)
  const quantile = (q: number): number => took[Math.floor(q * (took.length - 1))]!
  console.log(JSON.stringify({ p50: quantile(0.5), p99: quantile(0.99) }))
}
