/** Cases of impersonation. */
import type { Case } from '../api.ts'
import { ACCOUNTS, AUTHENTICATION, granting, type Step, steps, untilAllowed } from './steps.ts'

const WHO = `${AUTHENTICATION}/selfsubjectreviews`
const GET_MAPS = { verbs: ['get'], apiGroups: [''], resources: ['configmaps'] }
const GET_MAPS_ACTION = { verb: 'get', resource: 'configmaps' }

function who(headers: Record<string, string>): Step {
  return { path: WHO, body: {}, headers, show: 'status' }
}

export const IMPERSONATION_CASES: readonly Case[] = [
  steps('the headers of impersonation set the caller', [
    who({ 'impersonate-user': 'jane' }),
    who({ 'impersonate-user': 'jane', 'impersonate-group': 'g1', 'impersonate-uid': 'u1' }),
    who({ 'impersonate-user': 'jane', 'impersonate-group': 'system:authenticated' }),
    who({
      'impersonate-user': 'jane',
      'impersonate-extra-acme.com%2fproject': 'p',
      'impersonate-extra-acme.com%2Fa': 'q',
    }),
    who({ 'impersonate-user': 'jane', 'impersonate-extra-a': 'p', 'impersonate-extra-%61': 'p' }),
    who({ 'impersonate-user': 'system:serviceaccount:default:foo' }),
    who({ 'impersonate-user': 'system:serviceaccount:a:b', 'impersonate-group': 'g' }),
  ]),
  steps('impersonation without a user is refused', [
    { path: WHO, body: {}, headers: { 'impersonate-group': 'g1' } },
    { path: WHO, body: {}, headers: { 'impersonate-uid': 'u' } },
    { path: WHO, body: {}, headers: { 'impersonate-extra-x': 'v' } },
    { path: '/version', headers: { 'impersonate-user': '' } },
  ]),
  steps('an impersonated anonymous user has only public rights', [
    { path: '/version', as: 'system:anonymous' },
    { path: '/healthz', as: 'system:anonymous' },
    { path: '/api', as: 'system:anonymous' },
    { path: WHO, body: {}, as: 'system:anonymous' },
    { path: WHO, body: {}, headers: { 'impersonate-user': 'jane', 'impersonate-group': 'system:unauthenticated' } },
  ]),
  steps('impersonation requires rights for the user, the groups and the rest', async function* (api) {
    yield { path: ACCOUNTS, body: { metadata: { name: 'joe' } } }
    yield* granting('system:serviceaccount:$NS:joe', [
      GET_MAPS,
      { verbs: ['impersonate'], apiGroups: [''], resources: ['users'], resourceNames: ['jane'] },
      { verbs: ['impersonate'], apiGroups: [''], resources: ['groups'], resourceNames: ['g1'] },
    ])
    await untilAllowed(api, 'system:serviceaccount:$NS:joe', GET_MAPS_ACTION)
    const { status } = yield { path: `${ACCOUNTS}/joe/token`, body: {} }
    const authorization = `Bearer ${status.token}`
    const as = (headers: Record<string, string>): Pick<Step, 'path' | 'body' | 'headers'> => ({
      path: WHO,
      body: {},
      headers: { authorization, ...headers },
    })
    yield as({ 'impersonate-user': 'jim' })
    yield { ...as({ 'impersonate-user': 'jane' }), show: 'status.userInfo.username' }
    yield { ...as({ 'impersonate-user': 'jane', 'impersonate-group': 'g1' }), show: 'status.userInfo.groups' }
    yield as({ 'impersonate-user': 'jane', 'impersonate-group': 'system:masters' })
    yield as({ 'impersonate-user': 'jane', 'impersonate-uid': 'x' })
    yield as({ 'impersonate-user': 'jane', 'impersonate-extra-a.com%2fb': 'x' })
  }),
]
