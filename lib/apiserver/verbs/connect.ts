/** Answers requests that a real server forwards to a kubelet, a pod or a service, of which there are none. */
import type { HttpResponse } from '../../core/transport.ts'
import { type Context, type LogLine, readObject } from '../context/context.ts'
import { flag } from '../../core/requested_action.ts'
import { admitConnect } from '../admission/admission.ts'
import { answerText } from '../wire/respond.ts'
import { followLog } from './log_follow.ts'
import type { Call, ResourceRoute } from '../model/routes.ts'
import { badRequest, errorWithoutReason, fault, invalid, methodNotAllowed, type StatusError } from '../model/status.ts'
import { type ApiObject, at, isObject, type Json } from '../model/json.ts'
import type { Kind } from '../model/kinds.ts'

type Answer = (context: Context, kind: Kind, route: ResourceRoute, call: Call) => HttpResponse

/** Answers what a real server forwards to a kubelet, a pod or a service. */
export const forwarded: Answer = (context, kind, route, call) => {
  admitConnect(context, kind, route, call)
  // `scheme:name:port` and `name:port`
  const parts = route.name.split(':')
  const object = readObject(context, kind, { ...route, name: parts[parts.length === 3 ? 1 : 0]! })
  const isPending = kind.plural === 'pods' && route.subresource !== 'proxy' && !at(object, 'spec', 'nodeName')
  throw isPending ? badRequest(`pod ${route.name} does not have a host assigned`) : noKubelet()
}

function noKubelet(): StatusError {
  return errorWithoutReason(500, 'the embedded API server does not connect to kubelets')
}

export const logs: Answer = (context, kind, route, call) => {
  if (call.method !== 'GET') throw methodNotAllowed()
  const faults = ['tailLines', 'limitBytes', 'sinceSeconds'].flatMap((name) => {
    const value = call.query.get(name)
    const min = name === 'tailLines' ? 0 : 1
    return value !== null && Number(value) < min
      ? [fault.invalid(name, Number(value), `must be greater than ${min === 0 ? 'or equal to 0' : '0'}`)]
      : []
  })
  if (faults.length > 0) throw invalid({ group: '', kind: 'PodLogOptions' }, route.name, faults)
  const pod = readObject(context, kind, route)
  const container = checkedContainer(pod, call.query.get('container') ?? '')
  // No container of a pod without a node has ever run.
  if (!at(pod, 'spec', 'nodeName')) return answerText(204, '')
  const lines = context.podLog?.(pod, container)
  if (!lines) throw noKubelet()
  const previous = flag(call.query, 'previous')
  checkStarted(pod, container, previous)
  if (!flag(call.query, 'follow') || previous) {
    return answerText(200, new TextDecoder().decode(logBytes(lines, call.query, context.clock.now())))
  }
  const later = new URLSearchParams(call.query)
  for (const name of ['tailLines', 'limitBytes']) later.delete(name)
  return followLog(context, pod, container, call, {
    render: (lines, isFirst) => logBytes(lines, isFirst ? call.query : later, context.clock.now()),
    hasEnded: (pod) => !at(statusOf(pod, container), 'state', 'running'),
  })
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
  throw badRequest(
    `${name} is waiting to start: ${String(at(status, 'state', 'waiting', 'reason') ?? 'ContainerCreating')}`,
  )
}

/** Returns the bytes that the options of a request select. */
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
  const of = (field: string): string[] => {
    const list = at(pod, 'spec', field)
    return (Array.isArray(list) ? list as Json[] : []).filter(isObject).map((each) => String(each['name']))
  }
  const names = of('containers')
  const chosen = name || (names.length === 1 ? names[0]! : '')
  if (!chosen) {
    throw badRequest(
      `a container name must be specified for pod ${pod.metadata.name}, choose one of: [${names.join(' ')}]`,
    )
  }
  if (![...names, ...of('initContainers'), ...of('ephemeralContainers')].includes(chosen)) {
    throw badRequest(`container ${chosen} is not valid for pod ${pod.metadata.name}`)
  }
  return chosen
}
