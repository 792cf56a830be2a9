/** Answers requests that a real server forwards to a kubelet, a pod or a service, of which there are none. */
import { turnBudgetOf } from '../../async/clock.ts'
import type { HttpResponse } from '../../core/transport.ts'
import { type KindRequest, type LogLine, readObject } from '../context/context.ts'
import { flag } from '../../core/requested_action.ts'
import { admitConnect } from '../admission/admission.ts'
import { answerText, PLAIN } from '../wire/respond.ts'
import { WatchBody } from './watch_body.ts'
import { badRequest, errorWithoutReason, fault, invalid, methodNotAllowed, type StatusError } from '../model/status.ts'
import { type ApiObject, at, type Json } from '../model/json.ts'

/** Answers what a real server forwards to a kubelet, a pod or a service. */
export function forwarded(request: KindRequest): never {
  const { kind, route } = request
  admitConnect(request)
  // `scheme:name:port` and `name:port`
  const parts = route.name.split(':')
  const object = readObject({ ...request, route: { ...route, name: parts[parts.length === 3 ? 1 : 0]! } })
  const isPending = kind.plural === 'pods' && route.subresource !== 'proxy' && !at(object, 'spec', 'nodeName')
  throw isPending ? badRequest(`pod ${route.name} does not have a host assigned`) : noKubelet()
}

const noKubelet = (): StatusError => errorWithoutReason(500, 'the embedded API server does not connect to kubelets')

export function logs(request: KindRequest): HttpResponse {
  const { context, route, call } = request
  if (call.method !== 'GET') throw methodNotAllowed()
  const faults = ['tailLines', 'limitBytes', 'sinceSeconds'].flatMap((name) => {
    const value = call.query.get(name)
    const min = name === 'tailLines' ? 0 : 1
    return value !== null && Number(value) < min
      ? [fault.invalid(name, Number(value), `must be greater than ${min === 0 ? 'or equal to 0' : '0'}`)]
      : []
  })
  if (faults.length > 0) throw invalid({ group: '', kind: 'PodLogOptions' }, route.name, faults)
  const pod = readObject(request)
  const container = checkedContainer(pod, call.query.get('container') ?? '')
  // No container of a pod without a node has ever run.
  if (!at(pod, 'spec', 'nodeName')) return answerText(204, '')
  const lines = context.podLog?.(pod, container)
  if (!lines) throw noKubelet()
  const previous = flag(call.query, 'previous')
  checkStarted(pod, container, previous)
  if (flag(call.query, 'follow') && !previous) return followLog(request, pod, container)
  return answerText(200, new TextDecoder().decode(logBytes(lines, call.query, context.clock.now())))
}

/** Follows the log of a container until it has ended. */
function followLog({ context, call }: KindRequest, pod: ApiObject, container: string): HttpResponse {
  const { store, podLog, clock } = context
  const podKey = `${pod.metadata.namespace}/${pod.metadata.name}`
  const query = new URLSearchParams(call.query)
  let bytes = Number(query.get('limitBytes') ?? Infinity)
  let sent: readonly LogLine[] | undefined
  const ended = new AbortController()
  const body = new WatchBody(turnBudgetOf(clock), context.endlessWatches)
  body.onEnd(() => ended.abort())
  const follow = { signal: ended.signal, more: () => send(store.get('pods', podKey)) }
  const send = (now: ApiObject | undefined): void => {
    if (!now || now.metadata.uid !== pod.metadata.uid) return body.end()
    const lines = podLog?.(now, container, sent ? undefined : follow) ?? []
    // The line that stands for a log without lines is followed by the first line.
    const isNew = lines.findIndex(({ text }, index) => sent?.[index]?.text !== text)
    const chunk = logBytes(isNew < 0 ? [] : lines.slice(isNew), query, clock.now()).subarray(0, bytes)
    // It is about the first lines only.
    query.delete('tailLines')
    sent = lines
    bytes -= chunk.byteLength
    if (chunk.byteLength > 0) body.push(chunk)
    if (bytes <= 0 || !at(statusOf(now, container), 'state', 'running')) body.end()
  }
  send(pod)
  body.onEnd(store.listen('pods', ({ key }) => {
    if (key === podKey) follow.more()
  }))
  body.failOn(call.signal)
  return { status: 200, headers: { 'content-type': PLAIN }, body }
}

function statusOf(pod: ApiObject, container: string): Json | undefined {
  return ['containerStatuses', 'initContainerStatuses'].flatMap((field) => at(pod, 'status', field) as Json[] ?? [])
    .find((each) => at(each, 'name') === container)
}

/** Throws 400 with a kubelet's message if a container has not run yet, or not before with `previous`. */
function checkStarted(pod: ApiObject, container: string, previous: boolean): void {
  const status = statusOf(pod, container)
  const name = `container ${JSON.stringify(container)} in pod ${JSON.stringify(pod.metadata.name)}`
  const ended = at(status, 'lastState', 'terminated')
  if (previous && !ended) throw badRequest(`previous terminated ${name} not found`)
  if (ended || at(status, 'state', 'running') || at(status, 'state', 'terminated')) return
  const reason = String(at(status, 'state', 'waiting', 'reason') ?? 'ContainerCreating')
  throw badRequest(`${name} is waiting to start: ${reason}`)
}

function logBytes(lines: readonly LogLine[], query: URLSearchParams, nowMs: number): Uint8Array {
  const number = (name: string): number => query.has(name) ? Number(query.get(name)) : Infinity
  const sinceMs = Math.max(nowMs - number('sinceSeconds') * 1000, Date.parse(query.get('sinceTime') ?? '') || -Infinity)
  const tail = number('tailLines')
  const chosen = lines.filter(({ atMs }) => atMs >= sinceMs)
  const text = chosen.slice(Math.max(0, chosen.length - tail)).map(({ atMs, text }) =>
    `${flag(query, 'timestamps') ? `${new Date(atMs).toISOString().replace('Z', '000000Z')} ` : ''}${text}\n`
  ).join('')
  return new TextEncoder().encode(text).subarray(0, number('limitBytes'))
}

/** Returns the container. Throws 400 if a pod has no such container, or several ones and none is chosen. */
function checkedContainer(pod: ApiObject, name: string): string {
  const of = (field: string): string[] =>
    (at(pod, 'spec', field) as Json[] | undefined ?? []).map((each) => String(at(each, 'name')))
  const names = of('containers')
  const chosen = name || (names.length === 1 ? names[0]! : '')
  const { name: podName } = pod.metadata
  if (!chosen) {
    throw badRequest(`a container name must be specified for pod ${podName}, choose one of: [${names.join(' ')}]`)
  }
  if (![...names, ...of('initContainers'), ...of('ephemeralContainers')].includes(chosen)) {
    throw badRequest(`container ${chosen} is not valid for pod ${podName}`)
  }
  return chosen
}
