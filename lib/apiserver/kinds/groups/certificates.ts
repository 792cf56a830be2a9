/** The kinds of certificates.k8s.io/v1. */
import { type ApiObject, at } from '../../model/json.ts'
import { humanDuration } from '../../model/columns.ts'
import { AGE, list, NAME, num, str, text } from '../common/columns.ts'
import { type GroupTable, groupTable, kind } from '../../model/kind_table.ts'
import { CERTIFICATE_RULES } from '../../access/certificates.ts'

function conditionText(request: ApiObject): string {
  const has = (type: string): boolean => list(request, 'status', 'conditions').some((each) => each['type'] === type)
  const decision = has('Denied') ? 'Denied' : has('Approved') ? 'Approved' : 'Pending'
  const issued = str(request, 'status', 'certificate') ? ',Issued' : ''
  return `${decision}${has('Failed') ? ',Failed' : ''}${issued}`
}

export const CERTIFICATES: GroupTable = groupTable('certificates.k8s.io/v1', [
  kind('CertificateSigningRequest certificatesigningrequests csr | Cluster', {
    subresources: [{ name: 'approval', verbs: ['get', 'patch', 'update'] }, 'status'],
    columns: [
      NAME,
      AGE,
      text('SignerName', 'spec.signerName', '<none>'),
      text('Requestor', 'spec.username'),
      text(
        'RequestedDuration',
        (request) =>
          at(request, 'spec', 'expirationSeconds') === undefined
            ? '<none>'
            : humanDuration(num(request, 'spec', 'expirationSeconds') * 1000),
      ),
      text('Condition', conditionText),
    ],
    rules: CERTIFICATE_RULES,
  }),
])
