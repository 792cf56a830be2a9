/** Cases as lists of requests, whose answers are recorded. `$NS` is the namespace of the case, also for names of other objects. */
import assert from 'node:assert/strict'
import type { HttpRequest } from '../../../lib/core/transport.ts'
import type { Answer, Api, Body, Case } from '../api.ts'
import { lineOf, recordedCase } from '../recording.ts'
import { textOf } from '../transcript.ts'

/** One request. */
export interface Step {
  readonly method?: HttpRequest['method']
  readonly path: string
  readonly body?: Body
  readonly type?: string
  /** The user to impersonate. */
  readonly as?: string
  readonly headers?: Readonly<Record<string, string>>
  /** What the recording has of an answer that is no Status: paths of the body. */
  readonly show?: string
  readonly check?: (body: Body) => void
}

/** Returns a case that sends requests in order. */
export function steps(name: string, list: readonly Step[] | ((api: Api) => AsyncGenerator<Step, void, Body>)): Case {
  return recordedCase('access', name, async function* (api) {
    if (typeof list !== 'function') {
      for (const step of list) yield lineFor(api, step, await request(api, step))
      return
    }
    const generator = list(api)
    for (let next = await generator.next(); !next.done;) {
      const answer = await request(api, next.value)
      yield lineFor(api, next.value, answer)
      next = await generator.next(answer.body)
    }
  })
}

const methodOf = ({ method, body }: Step) => method ?? (body === undefined ? 'GET' : 'POST')

function lineFor(api: Api, step: Step, answer: Answer): string {
  const who = step.as === undefined ? '' : `${step.as}: `
  const names = { ns: api.namespace, group: api.group }
  return lineOf(`${who}${methodOf(step)} ${step.path}`.replaceAll('$NS', '{ns}'), textOf(names, answer, step.show))
}

/** Sends a request and returns the body of the answer. */
export async function send(api: Api, step: Step): Promise<Body> {
  return (await request(api, step)).body
}

async function request(api: Api, { check, ...plain }: Step): Promise<Answer> {
  const step = JSON.parse(JSON.stringify(plain).replaceAll('$NS', api.namespace)) as Step
  const { path, body, type, as } = step
  const headers = { ...(as !== undefined && { 'impersonate-user': as }), ...step.headers }
  const answer = await api.request(methodOf(step), path, body, { headers, ...(type && { type }) })
  check?.(answer.body)
  return answer
}

export const RBAC = '/apis/rbac.authorization.k8s.io/v1'
export const AUTHENTICATION = '/apis/authentication.k8s.io/v1'
export const AUTHORIZATION = '/apis/authorization.k8s.io/v1'
export const PODS = '/api/v1/namespaces/$NS/pods'
export const ACCOUNTS = '/api/v1/namespaces/$NS/serviceaccounts'

export function pod(name: string, spec: Body = {}, labels: Body = { app: 'a' }): Body {
  return { metadata: { name, labels }, spec: { containers: [{ name: 'c', image: 'i' }], ...spec } }
}

/** Returns the steps that bind a user to a new ClusterRole, cluster-wide. */
export function granting(user: string, rules: readonly Body[], name = '$NS'): Step[] {
  return [
    { path: `${RBAC}/clusterroles`, body: { metadata: { name }, rules } },
    {
      path: `${RBAC}/clusterrolebindings`,
      body: {
        metadata: { name },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
        subjects: [{ kind: 'User', name: user }],
      },
    },
  ]
}

/** Waits until a user has a right. */
export async function untilAllowed(api: Api, user: string, resourceAttributes: Body, allowed = true): Promise<void> {
  for (let tries = 0; tries < 2000; tries++) {
    const { status } = await send(api, {
      path: `${AUTHORIZATION}/subjectaccessreviews`,
      body: { spec: { user, resourceAttributes } },
    })
    if (status.allowed === allowed) return
  }
  assert.fail(`${user} never got the right ${JSON.stringify(resourceAttributes)}`)
}
