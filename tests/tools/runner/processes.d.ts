export interface RunOptions {
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
  readonly limit: number
  readonly signal?: NodeJS.Signals
  readonly onLine?: (line: string) => number | undefined
}
export function run(
  command: string,
  args: readonly string[],
  options: RunOptions,
): Promise<{ readonly code: number | string | null; readonly output: string }>
export function endAll(signal?: NodeJS.Signals): void
