export function quantile(values: readonly number[], q: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(q * (values.length - 1))]!
}

export function printQuantiles(took: readonly number[]): void {
  console.log(JSON.stringify({ p50: quantile(took, 0.5), p99: quantile(took, 0.99) }))
}
