/** Cases of CertificateSigningRequests: the requester, and what approval writes. */
import type { Body } from '../api.ts'
import { type Script, script } from '../transcript.ts'

const ALL = '/apis/certificates.k8s.io/v1/certificatesigningrequests'
const ONE = `${ALL}/{ns}`
const REQUEST = 'LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIWk1JR0FBZ0VBTUI0eERUQUxCZ05WQkFNTUJHcGhibVV4RFRB' +
  'TEJnTlZCQW9NQkdSbGRuTXdXVEFUQmdjcQpoa2pPUFFJQkJnZ3Foa2pPUFFNQkJ3TkNBQVIxcFovTzZ0bWpwcHNMZ1dML01WSEtE' +
  'eVdRLzBHRWhvQUhkUVJECktScnlTQ3BPQVNXUjRyaWhmZGh0Ukp1MithNzNXSTcrTFZqbHRSOGlERVZNYzJXVG9BQXdDZ1lJS29a' +
  'SXpqMEUKQXdJRFNBQXdSUUlnQTd6SlIxYXUwS0RhN09uK0hPOHdFNHhic2dWUFdxcWlKYVJRSS9za3FHSUNJUUR4UkFvcApocEJU' +
  'NG9OZlVUbVRNWThhcjA0RmFTUVZ6WFhyelRGQkMwdjF3Zz09Ci0tLS0tRU5EIENFUlRJRklDQVRFIFJFUVVFU1QtLS0tLQo='

const APPROVED = { type: 'Approved', status: 'True', reason: 'KubectlApprove', message: 'ok' }
const FAILED = { type: 'Failed', status: 'True', reason: 'x' }
const TIME = '2026-01-01T00:00:00Z'
const SHOWN = 'spec.signerName spec.usages spec.username spec.uid spec.groups status'

const AS_ADMIN = {
  headers: { 'impersonate-user': 'admin', 'impersonate-group': 'system:masters', 'impersonate-uid': 'u1' },
}

function csr(more: Body = {}): Body {
  const spec = { request: REQUEST, signerName: 'example.com/x', usages: ['client auth'], ...more }
  return { metadata: { name: '{ns}' }, spec }
}

export const CERTIFICATE_CASES: readonly Script[] = [
  script('a CertificateSigningRequest names the user who created it', [
    [`POST ${ALL} ? ${SHOWN}`, csr({ username: 'fake', groups: ['fake'] }), AS_ADMIN],
    [`MERGE ${ONE} ? ${SHOWN} metadata.labels`, {
      metadata: { labels: { a: 'b' } },
      spec: { usages: ['server auth'] },
      status: { conditions: [APPROVED] },
    }],
  ]),
  script('a CertificateSigningRequest is approved by its subresource', [
    [`POST ${ALL} ? ${SHOWN}`, csr(), AS_ADMIN],
    `GET ${ONE}/approval ? kind`,
    [`PUT ${ONE}/approval ? ${SHOWN}`, ([{ spec, ...created }]: readonly Body[]) => ({
      ...created,
      spec: { ...spec, username: 'zz' },
      status: { conditions: [APPROVED], certificate: 'Zm9v' },
    })],
    // The time of a condition that stays is kept.
    [`PUT ${ONE}/status ? status`, (answers: readonly Body[]) => ({
      ...answers.at(-1),
      status: { conditions: [{ ...APPROVED, lastUpdateTime: TIME }, { ...FAILED, lastTransitionTime: TIME }] },
    })],
    [`POST ${ONE}/approval`, {}],
  ]),
]
