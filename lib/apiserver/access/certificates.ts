/** The rules of CertificateSigningRequests: who asked, and what each subresource writes. Nothing signs them. */
import { type ApiObject, at, objectAt, putAt, restoreField, str } from '../model/json.ts'
import type { PrepareContext, Rules } from '../model/kinds.ts'

export const CERTIFICATE_RULES: Partial<Rules> = {
  nameRule: 'path',
  prepareCreate: setRequester,
  prepareUpdate(request, old) {
    restoreField(request, old, 'spec')
    restoreField(request, old, 'status')
  },
  prepareStatus: (request, old) => restoreField(request, old, 'spec'),
  parts: {
    approval: {
      prepare(request, old) {
        restoreField(request, old, 'spec')
        putAt(request, ['status', 'certificate'], at(old, 'status', 'certificate'))
      },
      validate: () => [],
    },
  },
  fields: (request) => ({ 'spec.signerName': str(request, 'spec', 'signerName') }),
}

/** Sets the caller as the requester, in place, and drops a stated requester and a stated approval. */
function setRequester(request: ApiObject, { user }: PrepareContext): void {
  const spec = { ...objectAt(request, 'spec') }
  for (const field of ['username', 'uid', 'groups', 'extra']) delete spec[field]
  request['spec'] = { ...spec, ...user }
  request['status'] = {}
}
