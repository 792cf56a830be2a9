/** The indexes of pods of an indexed Job, and lists of them as text: `0-2,5`. */
import type { V1Pod } from 'kubeloop/kinds'

export const INDEX = 'batch.kubernetes.io/job-completion-index'

/** Returns the index of a pod, or -1. */
export function indexOf({ metadata }: V1Pod): number {
  return Number(metadata.annotations?.[INDEX] ?? -1)
}

/** Returns the indexes of a text, and of the pods that have succeeded. */
export function completedIndexes(text: string | undefined, pods: readonly V1Pod[]): Set<number> {
  const found = new Set<number>()
  for (const part of text?.split(',') ?? []) {
    const [first, last = first] = part.split('-').map(Number)
    for (let index = first!; index <= last!; index++) found.add(index)
  }
  for (const pod of pods) if (pod.status?.phase === 'Succeeded' && indexOf(pod) >= 0) found.add(indexOf(pod))
  return found
}

/** Returns the text of indexes. */
export function formatIndexes(indexes: ReadonlySet<number>): string {
  const ranges: [number, number][] = []
  for (const index of [...indexes].toSorted((a, b) => a - b)) {
    const last = ranges.at(-1)
    if (last && last[1] === index - 1) last[1] = index
    else ranges.push([index, index])
  }
  return ranges.map(([first, last]) => last === first ? `${first}` : `${first}${last === first + 1 ? ',' : '-'}${last}`)
    .join(',')
}
