/** Decides which refused writes are those of any cluster, and which are the operator's. */

export const AXES = {
  replicas: ['1', '2', '3'],
  certificates: ['secret', 'folder'],
  crds: ['install', 'verify'],
  event: ['roll-forward', 'roll-back', 'kill', 'secret-deleted', 'patched', 'second', 'restored'],
} as const
export type Cell = { readonly [Axis in keyof typeof AXES]: (typeof AXES)[Axis][number] }

/** What a message is about. The first that fits counts. */
const REASONS = {
  x509: /x509|tls: /,
  'no answer': /connection re|EOF|broken pipe|dial tcp|GOAWAY|http2:|idle connection/,
  timeout: /deadline|timeout$|timed out/i,
  'no such path': /webhook.* the server could not find/,
  'read-only': /is read-only until/,
  conversion: /conversion webhook/,
  denied: /denied the request/,
  'not served': /could not find the requested resource|page not found/,
  'no object': /not found/,
  invalid: /is invalid/,
} as const
export type Reason = keyof typeof REASONS | 'other'

export function reasonOf(message: string): Reason {
  const found = Object.entries(REASONS).find(([, pattern]) => pattern.test(message))
  return (found?.[0] ?? 'other') as Reason
}

interface Span {
  readonly fromMs: number
  readonly toMs: number
}

/** When something outside of the operator makes refusals inevitable. Without `reasons`: all, and lost fields. */
export type Excuse = Span & { readonly why: string; readonly reasons?: readonly Reason[] }

/** `text`: what was written, and the message. */
export type Refusal = Span & { readonly reason: Reason; readonly text: string }

export interface Observed {
  readonly eventMs: number
  readonly refusals: readonly Refusal[]
  readonly excuses: readonly Excuse[]
  /** Objects that lack what was stored, and when they were written. */
  readonly lost: readonly { readonly text: string; readonly writtenMs: readonly number[] }[]
  /** When something was stored without the admission, which had worked before. */
  readonly unguardedMs: readonly number[]
  readonly wrong: readonly string[]
}

/** Returns the refused writes by reason, where an exclamation mark is the operator's, and what is not well. */
export function verdictOf({ eventMs, refusals, excuses, lost, unguardedMs, wrong }: Observed) {
  const excuseOf = (fromMs: number, toMs: number, reason?: Reason): Excuse | undefined =>
    excuses.find((each) =>
      toMs >= each.fromMs && fromMs <= each.toMs && (!each.reasons || (reason && each.reasons.includes(reason)))
    )
  const groups = Map.groupBy(refusals, ({ fromMs, toMs, reason }) => {
    const excuse = excuseOf(fromMs, toMs, reason)
    return excuse ? `${reason} (${excuse.why})` : `${reason}!`
  })
  const seconds = (ms: number): string => ((ms - eventMs) / 1000).toFixed(1)
  const lostHere = lost.filter(({ writtenMs }) => !writtenMs.some((ms) => excuseOf(ms, ms)))
  const unguarded = unguardedMs.filter((ms) => !excuseOf(ms, ms))
  const problems = [...groups].flatMap(([name, all]) => {
    const times = `${seconds(all[0]!.fromMs)} to ${seconds(all.at(-1)!.toMs)} s`
    return name.endsWith('!') ? [`${all.length} refused, ${all[0]!.reason}, ${times}: ${all[0]!.text}`] : []
  })
  if (lostHere.length > 0) problems.push(`${lostHere.length} objects lost fields: ${lostHere[0]!.text}`)
  if (unguarded.length > 0) {
    problems.push(`${unguarded.length} stored without admission, at ${seconds(unguarded[0]!)} s`)
  }
  const refused = [...groups].map(([name, all]) => `${all.length} ${name}`).join(', ') || 'none'
  return { refused, problems: [...problems, ...wrong] }
}
