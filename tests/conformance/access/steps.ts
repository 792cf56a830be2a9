/** Cases as lists of requests with their answers. `$NS` is the namespace of the case, also for names of other objects. */
import assert from 'node:assert/strict'
import type { HttpRequest } from '../../../lib/core/transport.ts'
import type { Api, Body, Case } from '../api.ts'

/** One request and what its answer must contain: a part of the body, the message of a Status, or a check. */
export interface Step {
  readonly method?: HttpRequest['method']
  readonly path: string
  readonly body?: Body
  readonly type?: string
  /** The user to impersonate. */
  readonly as?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly status: number
  readonly reason?: string
  readonly has?: Body
  readonly message?: string
  readonly check?: (body: Body) => void
}

/** Returns a case that sends requests in order. */
export function steps(name: string, list: readonly Step[] | ((api: Api) => AsyncGenerator<Step, void, Body>)): Case {
  return {
    name,
    async run(api) {
      if (typeof list !== 'function') {
        for (const step of list) await send(api, step)
        return
      }
      const generator = list(api)
      for (let next = await generator.next(); !next.done;) next = await generator.next(await send(api, next.value))
    },
  }
}

/** Sends a request and checks the answer. Returns the body. */
export async function send(api: Api, given: Step): Promise<Body> {
  const { check, ...plain } = given
  const step = JSON.parse(JSON.stringify(plain).replaceAll('$NS', api.namespace)) as Step
  const { method = step.body === undefined ? 'GET' : 'POST', path, body, type, as, status, reason, has, message } = step
  const headers = { ...(as !== undefined && { 'impersonate-user': as }), ...step.headers }
  const answer = await api.request(method, path, body, { headers, ...(type && { type }) })
  const about = `${method} ${path} ${JSON.stringify(body) ?? ''}: ${JSON.stringify(answer.body)}`
  assert.equal(answer.status, status, about)
  if (reason !== undefined) assert.equal(answer.body.reason ?? '', reason, about)
  if (message !== undefined) assert.equal(answer.body.message, message, about)
  if (has !== undefined) assertContains(answer.body, has, about)
  check?.(answer.body)
  return answer.body
}

/** Asserts that a value has all fields of another one; lists must be equal in length. `undefined` must be absent. */
function assertContains(actual: Body, expected: Body, about: string): void {
  if (Array.isArray(expected)) {
    assert.ok(Array.isArray(actual), about)
    assert.equal(actual.length, expected.length, about)
    for (const [index, each] of expected.entries()) assertContains(actual[index], each, about)
  } else if (typeof expected === 'object' && expected !== null) {
    assert.ok(typeof actual === 'object' && actual !== null, about)
    for (const [key, each] of Object.entries(expected)) assertContains(actual[key], each, `${key} of ${about}`)
  } else {
    assert.equal(actual, expected, about)
  }
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
    { path: `${RBAC}/clusterroles`, body: { metadata: { name }, rules }, status: 201 },
    {
      path: `${RBAC}/clusterrolebindings`,
      body: {
        metadata: { name },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
        subjects: [{ kind: 'User', name: user }],
      },
      status: 201,
    },
  ]
}

/** Waits until a user has a right. */
export async function untilAllowed(api: Api, user: string, resourceAttributes: Body, allowed = true): Promise<void> {
  for (let tries = 0; tries < 2000; tries++) {
    const { status } = await send(api, {
      path: `${AUTHORIZATION}/subjectaccessreviews`,
      body: { spec: { user, resourceAttributes } },
      status: 201,
    })
    if (status.allowed === allowed) return
  }
  assert.fail(`${user} never got the right ${JSON.stringify(resourceAttributes)}`)
}
