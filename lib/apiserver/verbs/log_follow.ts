/** Follows the log of a container until it has ended. */
import { turnBudgetOf } from '../../async/clock.ts'
import type { HttpResponse } from '../../core/transport.ts'
import type { Context, LogLine } from '../context/context.ts'
import type { ApiObject } from '../model/json.ts'
import type { Call } from '../model/routes.ts'
import { PLAIN } from '../wire/respond.ts'
import { WatchBody } from './watch_body.ts'

interface Followed {
  /** Returns the bytes of lines. On the first call, the options of the request select which. */
  render(lines: readonly LogLine[], isFirst: boolean): Uint8Array
  /** Whether a container has no further lines. */
  hasEnded(pod: ApiObject): boolean
}

export function followLog(
  context: Context,
  pod: ApiObject,
  container: string,
  call: Call,
  { render, hasEnded }: Followed,
): HttpResponse {
  const { namespace, name, uid } = pod.metadata
  const { store, podLog, clock } = context
  const limit = call.query.get('limitBytes')
  let bytes = limit === null ? Infinity : Number(limit)
  let sent: readonly LogLine[] | undefined
  const ended = new AbortController()
  const body = new WatchBody(() => ended.abort(), turnBudgetOf(clock), context.endlessWatches)
  const follow = { signal: ended.signal, more: () => send(store.get('pods', `${namespace}/${name}`)) }
  const send = (now: ApiObject | undefined): void => {
    if (!now || now.metadata.uid !== uid) return body.end()
    const lines = podLog?.(now, container, sent ? undefined : follow) ?? []
    // The line that stands for a log without lines is followed by the first line.
    const isNew = lines.findIndex(({ text }, index) => sent?.[index]?.text !== text)
    const chunk = render(isNew < 0 ? [] : lines.slice(isNew), sent === undefined).subarray(0, bytes)
    sent = lines
    bytes -= chunk.byteLength
    if (chunk.byteLength > 0) body.push(chunk)
    if (bytes <= 0 || hasEnded(now)) body.end()
  }
  send(pod)
  const drop = store.listen('pods', ({ key }) => {
    if (key === `${namespace}/${name}`) follow.more()
  })
  const onAbort = (): void => body.fail(call.signal?.reason)
  call.signal?.addEventListener('abort', onAbort, { once: true })
  const close = (): void => {
    drop()
    call.signal?.removeEventListener('abort', onAbort)
  }
  if (body.isOpen) ended.signal.addEventListener('abort', close, { once: true })
  else close()
  return { status: 200, headers: { 'content-type': PLAIN }, body }
}
