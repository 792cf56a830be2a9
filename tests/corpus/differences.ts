/** The deliberate differences that the manifests of the corpus meet, with the reasons. */
import type { Manifest } from './projects.ts'

export interface Difference {
  readonly line: string
  readonly manifest: Manifest
  readonly expected: string
  readonly actual: string
}

const EXPLAINED: readonly { readonly reason: string; readonly matches: (difference: Difference) => boolean }[] = []

/** Returns why two answers may differ; undefined if they may not. */
export function explanationOf(difference: Difference): string | undefined {
  return EXPLAINED.find(({ matches }) => matches(difference))?.reason
}
