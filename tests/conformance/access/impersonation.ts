/** Cases of impersonation. */
import assert from 'node:assert/strict'
import type { Body, Case } from '../api.ts'
import { ACCOUNTS, AUTHENTICATION, granting, type Step, steps, untilAllowed } from './steps.ts'

const WHO = `${AUTHENTICATION}/selfsubjectreviews`
const GET_MAPS = { verbs: ['get'], apiGroups: [''], resources: ['configmaps'] }
const GET_MAPS_ACTION = { verb: 'get', resource: 'configmaps' }

function who(headers: Record<string, string>, userInfo: Body): Step {
  return {
    path: WHO,
    body: {},
    headers,
    status: 201,
    check: (body) => assert.deepEqual(body.status, { userInfo }),
  }
}

export const IMPERSONATION_CASES: readonly Case[] = [
  steps('the headers of impersonation set the caller', [
    who({ 'impersonate-user': 'jane' }, { username: 'jane', groups: ['system:authenticated'] }),
    who({ 'impersonate-user': 'jane', 'impersonate-group': 'g1', 'impersonate-uid': 'u1' }, {
      username: 'jane',
      uid: 'u1',
      groups: ['g1', 'system:authenticated'],
    }),
    who({ 'impersonate-user': 'jane', 'impersonate-group': 'system:authenticated' }, {
      username: 'jane',
      groups: ['system:authenticated'],
    }),
    who(
      {
        'impersonate-user': 'jane',
        'impersonate-extra-acme.com%2fproject': 'p',
        'impersonate-extra-acme.com%2Fa': 'q',
      },
      { username: 'jane', groups: ['system:authenticated'], extra: { 'acme.com/a': ['q'], 'acme.com/project': ['p'] } },
    ),
    who({ 'impersonate-user': 'system:serviceaccount:default:foo' }, {
      username: 'system:serviceaccount:default:foo',
      groups: ['system:serviceaccounts', 'system:serviceaccounts:default', 'system:authenticated'],
    }),
    who({ 'impersonate-user': 'system:serviceaccount:a:b', 'impersonate-group': 'g' }, {
      username: 'system:serviceaccount:a:b',
      groups: ['g', 'system:authenticated'],
    }),
  ]),
  steps('impersonation without a user is refused', [
    {
      path: WHO,
      body: {},
      headers: { 'impersonate-group': 'g1' },
      status: 400,
      reason: 'BadRequest',
      message:
        'requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"g1"}, Extra:map[string][]string(nil)} without impersonating a user name',
    },
    {
      path: WHO,
      body: {},
      headers: { 'impersonate-uid': 'u' },
      status: 400,
      message:
        'requested &user.DefaultInfo{Name:"", UID:"u", Groups:[]string(nil), Extra:map[string][]string(nil)} without impersonating a user name',
    },
    {
      path: WHO,
      body: {},
      headers: { 'impersonate-extra-x': 'v' },
      status: 400,
      message:
        'requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string(nil), Extra:map[string][]string{"x":[]string{"v"}}} without impersonating a user name',
    },
    { path: '/version', headers: { 'impersonate-user': '' }, status: 200 },
  ]),
  steps('an impersonated anonymous user has only public rights', [
    { path: '/version', as: 'system:anonymous', status: 200 },
    { path: '/healthz', as: 'system:anonymous', status: 200 },
    {
      path: '/api',
      as: 'system:anonymous',
      status: 403,
      message: 'forbidden: User "system:anonymous" cannot get path "/api"',
    },
    {
      path: WHO,
      body: {},
      as: 'system:anonymous',
      status: 403,
      reason: 'Forbidden',
      message:
        'selfsubjectreviews.authentication.k8s.io is forbidden: User "system:anonymous" cannot create resource ' +
        '"selfsubjectreviews" in API group "authentication.k8s.io" at the cluster scope',
    },
    {
      path: WHO,
      body: {},
      headers: { 'impersonate-user': 'jane', 'impersonate-group': 'system:unauthenticated' },
      status: 403,
      message: 'selfsubjectreviews.authentication.k8s.io is forbidden: User "jane" cannot create resource ' +
        '"selfsubjectreviews" in API group "authentication.k8s.io" at the cluster scope',
    },
  ]),
  steps('impersonation requires rights for the user, the groups and the rest', async function* (api) {
    yield { path: ACCOUNTS, body: { metadata: { name: 'joe' } }, status: 201 }
    yield* granting('system:serviceaccount:$NS:joe', [
      GET_MAPS,
      { verbs: ['impersonate'], apiGroups: [''], resources: ['users'], resourceNames: ['jane'] },
      { verbs: ['impersonate'], apiGroups: [''], resources: ['groups'], resourceNames: ['g1'] },
    ])
    await untilAllowed(api, 'system:serviceaccount:$NS:joe', GET_MAPS_ACTION)
    const { status } = yield { path: `${ACCOUNTS}/joe/token`, body: {}, status: 201 }
    const authorization = `Bearer ${status.token}`
    const as = (headers: Record<string, string>): Pick<Step, 'path' | 'body' | 'headers'> => ({
      path: WHO,
      body: {},
      headers: { authorization, ...headers },
    })
    // The constrained modes are tried first; the first of them that is refused gives the message.
    const joe = 'User "system:serviceaccount:$NS:joe" cannot'
    const target = 'resource "selfsubjectreviews" in API group "authentication.k8s.io" at the cluster scope'
    const refusal = (verb: string): string =>
      `selfsubjectreviews.authentication.k8s.io is forbidden: ${joe} ${verb} ${target}`
    yield {
      ...as({ 'impersonate-user': 'jim' }),
      status: 403,
      message: refusal('impersonate-on:user-info:create'),
    }
    yield {
      ...as({ 'impersonate-user': 'system:serviceaccount:a:b' }),
      status: 403,
      message: refusal('impersonate-on:serviceaccount:create'),
    }
    yield {
      ...as({ 'impersonate-user': 'system:node:n' }),
      status: 403,
      message: refusal('impersonate-on:arbitrary-node:create'),
    }
    yield { ...as({ 'impersonate-user': 'jane' }), status: 201, has: { status: { userInfo: { username: 'jane' } } } }
    yield {
      ...as({ 'impersonate-user': 'jane', 'impersonate-group': 'g1' }),
      status: 201,
      has: { status: { userInfo: { groups: ['g1', 'system:authenticated'] } } },
    }
    yield { ...as({ 'impersonate-user': 'jane', 'impersonate-group': 'system:masters' }), status: 403 }
    yield { ...as({ 'impersonate-user': 'jane', 'impersonate-uid': 'x' }), status: 403 }
    yield { ...as({ 'impersonate-user': 'jane', 'impersonate-extra-a.com%2fb': 'x' }), status: 403 }
  }),
  steps('constrained impersonation is by mode and by verb', async function* (api) {
    yield { path: ACCOUNTS, body: { metadata: { name: 'kim' } }, status: 201 }
    yield* granting('system:serviceaccount:$NS:kim', [
      GET_MAPS,
      { verbs: ['impersonate:user-info'], apiGroups: ['authentication.k8s.io'], resources: ['users'] },
      { verbs: ['impersonate:user-info'], apiGroups: ['authentication.k8s.io'], resources: ['groups'] },
      {
        verbs: ['impersonate-on:user-info:create'],
        apiGroups: ['authentication.k8s.io'],
        resources: ['selfsubjectreviews'],
      },
    ])
    await untilAllowed(api, 'system:serviceaccount:$NS:kim', GET_MAPS_ACTION)
    const { status } = yield { path: `${ACCOUNTS}/kim/token`, body: {}, status: 201 }
    const authorization = `Bearer ${status.token}`
    yield {
      path: WHO,
      body: {},
      headers: { authorization, 'impersonate-user': 'jane', 'impersonate-group': 'g' },
      status: 201,
      has: { status: { userInfo: { username: 'jane', groups: ['g', 'system:authenticated'] } } },
    }
    yield {
      path: '/version',
      headers: { authorization, 'impersonate-user': 'jane' },
      status: 403,
      message: 'forbidden: User "system:serviceaccount:$NS:kim" cannot impersonate-on:user-info:get path "/version"',
    }
    yield {
      path: WHO,
      body: {},
      headers: { authorization, 'impersonate-user': 'jane', 'impersonate-group': 'system:masters' },
      status: 403,
      message:
        'groups.authentication.k8s.io "system:masters" is forbidden: User "system:serviceaccount:$NS:kim" cannot ' +
        'impersonate:user-info resource "groups" in API group "authentication.k8s.io" at the cluster scope: ' +
        'impersonating the system:masters group is not allowed',
    }
  }),
]
