/** Cases of CertificateSigningRequests: the requester, approval, and the certificate. */
import assert from 'node:assert/strict'
import type { Body, Case } from '../api.ts'
import { granting, type Step, steps, untilAllowed } from './steps.ts'

const MERGE = 'application/merge-patch+json'
const ALL = '/apis/certificates.k8s.io/v1/certificatesigningrequests'
const ONE = `${ALL}/$NS`
const REQUEST = 'LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIWk1JR0FBZ0VBTUI0eERUQUxCZ05WQkFNTUJHcGhibVV4RFRB' +
  'TEJnTlZCQW9NQkdSbGRuTXdXVEFUQmdjcQpoa2pPUFFJQkJnZ3Foa2pPUFFNQkJ3TkNBQVIxcFovTzZ0bWpwcHNMZ1dML01WSEtE' +
  'eVdRLzBHRWhvQUhkUVJECktScnlTQ3BPQVNXUjRyaWhmZGh0Ukp1MithNzNXSTcrTFZqbHRSOGlERVZNYzJXVG9BQXdDZ1lJS29a' +
  'SXpqMEUKQXdJRFNBQXdSUUlnQTd6SlIxYXUwS0RhN09uK0hPOHdFNHhic2dWUFdxcWlKYVJRSS9za3FHSUNJUUR4UkFvcApocEJU' +
  'NG9OZlVUbVRNWThhcjA0RmFTUVZ6WFhyelRGQkMwdjF3Zz09Ci0tLS0tRU5EIENFUlRJRklDQVRFIFJFUVVFU1QtLS0tLQo='
const CERTIFICATE =
  'LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUJiVENDQVJPZ0F3SUJBZ0lVUkdCdkl1M0kvVjZKN1pSMmlqK0kxWjZhVlE4' +
  'd0NnWUlLb1pJemowRUF3SXcKRERFS01BZ0dBMVVFQXd3QmVEQWVGdzB5TmpFeE1qSXhPVFUyTVRoYUZ3MHpOakV4TVRreE9UVTJN' +
  'VGhhTUF3eApDakFJQmdOVkJBTU1BWGd3V1RBVEJnY3Foa2pPUFFJQkJnZ3Foa2pPUFFNQkJ3TkNBQVIxcFovTzZ0bWpwcHNMCmdX' +
  'TC9NVkhLRHlXUS8wR0Vob0FIZFFSREtScnlTQ3BPQVNXUjRyaWhmZGh0Ukp1MithNzNXSTcrTFZqbHRSOGkKREVWTWMyV1RvMU13' +
  'VVRBZEJnTlZIUTRFRmdRVXdtbTRHS3pXdTRJRE1HRGlLYkMwemc2clpiUXdId1lEVlIwagpCQmd3Rm9BVXdtbTRHS3pXdTRJRE1H' +
  'RGlLYkMwemc2clpiUXdEd1lEVlIwVEFRSC9CQVV3QXdFQi96QUtCZ2dxCmhrak9QUVFEQWdOSUFEQkZBaUVBdU5QMVkwa3lNZmVB' +
  'ZzN4Z3NtOHlRZkdva3cvNW5pQ0tyYjBRRCtIT0lZSUMKSUJEd0JjMVhMckd0MmFPR051ejZDd1lRLzVoOGIyY0wyeHZ1U29WeS9v' +
  'T2EKLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo='

const SPEC = { request: REQUEST, signerName: 'example.com/x', usages: ['client auth'] }
const APPROVED = { type: 'Approved', status: 'True', reason: 'KubectlApprove', message: 'ok' }

function create(spec: Body = {}, more: Partial<Step> = {}): Step {
  return { path: ALL, body: { metadata: { name: '$NS' }, spec: { ...SPEC, ...spec } }, ...more }
}

function patch(sub: string, status: Body, more: Partial<Step> = {}): Step {
  return { method: 'PATCH', path: `${ONE}${sub}`, type: MERGE, body: { status }, ...more }
}

export const CERTIFICATE_CASES: readonly Case[] = [
  steps('a CertificateSigningRequest names the user who created it', [
    create({ username: 'fake', groups: ['fake'] }, {
      headers: { 'impersonate-user': 'admin', 'impersonate-group': 'system:masters', 'impersonate-uid': 'u1' },
      check(body) {
        const { request: _, ...spec } = body.spec
        assert.deepEqual(spec, {
          signerName: 'example.com/x',
          usages: ['client auth'],
          username: 'admin',
          uid: 'u1',
          groups: ['system:masters', 'system:authenticated'],
        })
        assert.deepEqual(body.status, {})
      },
    }),
    {
      method: 'PATCH',
      path: ONE,
      type: MERGE,
      body: { metadata: { labels: { a: 'b' } }, spec: { usages: ['server auth'] }, status: { conditions: [APPROVED] } },
      show: 'spec.usages status metadata.labels',
    },
  ]),
  steps('an invalid CertificateSigningRequest is refused', [
    create({ usages: [], signerName: 'bad', expirationSeconds: 1 }),
    create({ request: 'Zm9v', usages: ['client auth', 'client auth'] }),
    create({ usages: ['foo'] }),
    { path: ALL, body: { metadata: { name: '$NS' }, spec: {} } },
    { path: ONE },
  ]),
  steps('a CertificateSigningRequest is approved by its subresource', async function* () {
    const body = yield create()
    yield { path: `${ONE}/approval`, show: 'kind' }
    yield {
      method: 'PUT',
      path: `${ONE}/approval`,
      body: {
        ...body,
        metadata: { ...body.metadata, labels: { a: 'b' } },
        spec: { ...body.spec, username: 'zz' },
        status: { conditions: [APPROVED], certificate: 'Zm9v' },
      },
      check(after) {
        assert.deepEqual([after.metadata.labels, after.spec], [{ a: 'b' }, body.spec])
        const [{ lastUpdateTime, lastTransitionTime, ...condition }] = after.status.conditions
        assert.ok(lastUpdateTime && lastTransitionTime)
        assert.deepEqual([condition, after.status.certificate], [APPROVED, undefined])
      },
    }
    yield patch('/approval', { conditions: [] })
    yield patch('/approval', { conditions: [{ type: 'Denied', status: 'True' }] })
    yield patch('/approval', { conditions: [APPROVED, { type: 'Denied', status: 'True' }] })
    yield patch('/approval', { conditions: [{ type: 'Approved', status: 'False' }] })
    yield { path: `${ONE}/approval`, method: 'POST', body: {} }
  }),
  steps('the certificate is set by /status, once', [
    create(),
    patch('/status', { conditions: [APPROVED] }),
    patch('/approval', { conditions: [APPROVED] }),
    patch('/status', { certificate: 'Zm9v' }),
    patch('/status', { certificate: CERTIFICATE }, { show: 'status.certificate' }),
    patch('/status', { certificate: REQUEST }),
    // The conditions of approval stay as they are.
    patch('/status', { conditions: [{ type: 'Approved', status: 'True' }, { type: 'Failed', status: 'True' }] }, {
      show: 'status.conditions',
    }),
  ]),
  steps('approval and signing require rights for the signer', async function* (api) {
    yield create()
    yield* granting('$NS-ann', [
      {
        verbs: ['*'],
        apiGroups: ['certificates.k8s.io'],
        resources: ['certificatesigningrequests/approval', 'certificatesigningrequests/status'],
      },
    ])
    const subject = { group: 'certificates.k8s.io', resource: 'certificatesigningrequests', subresource: 'approval' }
    await untilAllowed(api, '$NS-ann', { verb: 'patch', ...subject })
    const ann = { as: '$NS-ann' }
    yield patch('/approval', { conditions: [APPROVED] }, ann)
    yield patch('/status', { certificate: CERTIFICATE }, ann)
    yield* granting('$NS-ann', [
      {
        verbs: ['approve'],
        apiGroups: ['certificates.k8s.io'],
        resources: ['signers'],
        resourceNames: ['example.com/*'],
      },
      { verbs: ['sign'], apiGroups: ['certificates.k8s.io'], resources: ['signers'], resourceNames: ['example.com/x'] },
    ], '$NS-signers')
    const signers = { group: 'certificates.k8s.io', resource: 'signers' }
    await untilAllowed(api, '$NS-ann', { verb: 'sign', name: 'example.com/x', ...signers })
    yield patch('/approval', { conditions: [APPROVED] }, ann)
    yield patch('/status', { certificate: CERTIFICATE }, ann)
  }),
]
