/** The rules of CertificateSigningRequests: who asked, and what each subresource writes. Nothing signs them. */
import { type ApiObject, at, type JsonObject, objectAt, putAt, restoreField, str } from '../model/json.ts'
import type { PrepareContext, Rules } from '../model/kinds.ts'

export const CERTIFICATE_RULES: Partial<Rules> = {
  nameRule: 'path',
  prepareCreate: setRequester,
  prepareUpdate(request, old) {
    restoreField(request, old, 'spec')
    restoreField(request, old, 'status')
  },
  prepareStatus: restoreRequest,
  parts: {
    approval: {
      prepare(request, old, context) {
        restoreRequest(request, old, context)
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

/** Restores the request, and sets the missing times of conditions. */
function restoreRequest(request: ApiObject, old: ApiObject, { nowIso }: PrepareContext): void {
  restoreField(request, old, 'spec')
  for (const condition of conditionsOf(request)) {
    condition['lastUpdateTime'] ??= nowIso()
    condition['lastTransitionTime'] ??= conditionsOf(old).find(({ type, status }) =>
      type === condition['type'] && status === condition['status']
    )?.['lastTransitionTime'] ?? nowIso()
  }
}

function conditionsOf(request: ApiObject): JsonObject[] {
  return (at(request, 'status', 'conditions') ?? []) as JsonObject[]
}
