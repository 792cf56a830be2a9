/** Cases of impersonation. */
import { type Script, script, type Step } from '../transcript.ts'
import { AUTHENTICATION, granting } from './granting.ts'

const WHO = `${AUTHENTICATION}/selfsubjectreviews`

/** Shows the user of a request with headers, whose names begin with `impersonate-`. */
function who(names: Readonly<Record<string, string>>, more: Readonly<Record<string, string>> = {}): Step {
  const headers = Object.fromEntries(Object.entries(names).map(([name, value]) => [`impersonate-${name}`, value]))
  return [`POST ${WHO} ? status`, {}, { headers: { ...headers, ...more } }]
}

export const IMPERSONATION_CASES: readonly Script[] = [
  script('the headers of impersonation set the caller', [
    who({ user: 'jane' }),
    who({ user: 'jane', group: 'g1', uid: 'u1' }),
    who({ user: 'jane', group: 'system:authenticated' }),
    who({ user: 'jane', 'extra-acme.com%2fproject': 'p', 'extra-acme.com%2Fa': 'q' }),
    who({ user: 'jane', 'extra-a': 'p', 'extra-%61': 'p' }),
    who({ user: 'system:serviceaccount:default:foo' }),
    who({ user: 'system:serviceaccount:a:b', group: 'g' }),
  ]),
  script('impersonation without a user is refused', [
    who({ group: 'g1' }),
    who({ uid: 'u' }),
    who({ 'extra-x': 'v' }),
    ['GET /version', undefined, { headers: { 'impersonate-user': '' } }],
  ]),
  script('an impersonated anonymous user has only public rights', [
    'system:anonymous: GET /version',
    'system:anonymous: GET /healthz',
    'system:anonymous: GET /api',
    [`system:anonymous: POST ${WHO}`, {}],
    who({ user: 'jane', group: 'system:unauthenticated' }),
  ]),
  script('impersonation requires rights for the user, the groups and the rest', [
    ['POST ns/serviceaccounts', { metadata: { name: 'joe' } }],
    ...granting('system:serviceaccount:{ns}:joe', [
      { verbs: ['get'], apiGroups: [''], resources: ['configmaps'] },
      { verbs: ['impersonate'], apiGroups: [''], resources: ['users'], resourceNames: ['jane'] },
      { verbs: ['impersonate'], apiGroups: [''], resources: ['groups'], resourceNames: ['g1'] },
    ]),
    ['POST ns/serviceaccounts/joe/token', {}],
    ...[
      { user: 'jim' },
      { user: 'jane' },
      { user: 'jane', group: 'g1' },
      { user: 'jane', group: 'system:masters' },
      { user: 'jane', uid: 'x' },
      { user: 'jane', 'extra-a.com%2fb': 'x' },
    ].map((names) => who(names, { authorization: 'Bearer {4.status.token}' })),
  ]),
]
