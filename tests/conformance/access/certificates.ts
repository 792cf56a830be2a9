/** Cases of CertificateSigningRequests: the requester, and what approval writes. */
import assert from 'node:assert/strict'
import type { Body, Case } from '../api.ts'
import { type Step, steps } from './steps.ts'

const MERGE = 'application/merge-patch+json'
const ALL = '/apis/certificates.k8s.io/v1/certificatesigningrequests'
const ONE = `${ALL}/$NS`
const REQUEST = 'LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIWk1JR0FBZ0VBTUI0eERUQUxCZ05WQkFNTUJHcGhibVV4RFRB' +
  'TEJnTlZCQW9NQkdSbGRuTXdXVEFUQmdjcQpoa2pPUFFJQkJnZ3Foa2pPUFFNQkJ3TkNBQVIxcFovTzZ0bWpwcHNMZ1dML01WSEtE' +
  'eVdRLzBHRWhvQUhkUVJECktScnlTQ3BPQVNXUjRyaWhmZGh0Ukp1MithNzNXSTcrTFZqbHRSOGlERVZNYzJXVG9BQXdDZ1lJS29a' +
  'SXpqMEUKQXdJRFNBQXdSUUlnQTd6SlIxYXUwS0RhN09uK0hPOHdFNHhic2dWUFdxcWlKYVJRSS9za3FHSUNJUUR4UkFvcApocEJU' +
  'NG9OZlVUbVRNWThhcjA0RmFTUVZ6WFhyelRGQkMwdjF3Zz09Ci0tLS0tRU5EIENFUlRJRklDQVRFIFJFUVVFU1QtLS0tLQo='

const SPEC = { request: REQUEST, signerName: 'example.com/x', usages: ['client auth'] }
const APPROVED = { type: 'Approved', status: 'True', reason: 'KubectlApprove', message: 'ok' }

function create(spec: Body = {}, more: Partial<Step> = {}): Step {
  return { path: ALL, body: { metadata: { name: '$NS' }, spec: { ...SPEC, ...spec } }, ...more }
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
  steps('a CertificateSigningRequest is approved by its subresource', async function* () {
    const body = yield create()
    yield { path: `${ONE}/approval`, show: 'kind' }
    yield {
      method: 'PUT',
      path: `${ONE}/approval`,
      body: {
        ...body,
        spec: { ...body.spec, username: 'zz' },
        status: { conditions: [APPROVED], certificate: 'Zm9v' },
      },
      check(after) {
        assert.deepEqual(after.spec, body.spec)
        assert.deepEqual([after.status.conditions[0].reason, after.status.certificate], [APPROVED.reason, undefined])
      },
    }
    yield { path: `${ONE}/approval`, method: 'POST', body: {} }
  }),
]
