/** Checks the options of writes: dryRun, fieldManager, fieldValidation and force. */
import { mediaType } from '../wire/body.ts'
import type { Call } from '../model/routes.ts'
import { type Cause, fault, invalid } from '../model/status.ts'

/** The media types of patches. */
export const JSON_PATCH = 'application/json-patch+json'
export const MERGE = 'application/merge-patch+json'
export const STRATEGIC = 'application/strategic-merge-patch+json'
export const APPLY = 'application/apply-patch+yaml'

/** The maximum length of a field manager, in bytes. */
export const MAX_MANAGER_BYTES = 128

/** Throws 422 with all invalid options of a create, an update or a patch. */
export function checkWriteOptions(call: Call): void {
  const { query } = call
  const faults = [
    ...(call.method === 'PATCH' ? patchFaults(call) : []),
    ...managerFaults(query.get('fieldManager') ?? ''),
    ...dryRunFaults(query.getAll('dryRun')),
    ...validationFaults(query.get('fieldValidation') ?? ''),
  ]
  if (faults.length > 0) throw invalidOptions(`${KINDS[call.method] ?? 'Create'}Options`, faults)
}

const KINDS: Readonly<Record<string, string>> = { PUT: 'Update', PATCH: 'Patch' }

export function invalidOptions(kind: string, faults: readonly Cause[]): Error {
  return invalid({ group: 'meta.k8s.io', kind }, '', faults)
}

function patchFaults(call: Call): Cause[] {
  if (mediaType(call) === APPLY) {
    return call.query.get('fieldManager') ? [] : [fault.required('fieldManager', 'is required for apply patch')]
  }
  return call.query.has('force') ? [fault.forbidden('force', 'may not be specified for non-apply patch')] : []
}

function managerFaults(manager: string): Cause[] {
  const isLong = new TextEncoder().encode(manager).length > MAX_MANAGER_BYTES
  const faults = isLong ? [fault.tooLong('fieldManager', MAX_MANAGER_BYTES)] : []
  let position = 0
  for (const char of manager) {
    // Go prints letters, marks, numbers, punctuation, symbols and the ASCII space.
    if (!/[\p{L}\p{M}\p{N}\p{P}\p{S} ]/u.test(char)) {
      const code = char.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')
      const shown = JSON.stringify(manager).replace(/\\u00([01][0-9a-f])/g, '\\x$1')
      faults.push({
        reason: 'FieldValueInvalid',
        field: 'fieldManager',
        message: `Invalid value: ${shown}: invalid character U+${code} (at position ${position})`,
      })
    }
    position += new TextEncoder().encode(char).length
  }
  return faults
}

/** Returns the fault of `dryRun` values other than `All`. */
export function dryRunFaults(values: readonly string[]): Cause[] {
  return values.every((value) => value === 'All') ? [] : [fault.notSupported('dryRun', values, ['All'])]
}

function validationFaults(value: string): Cause[] {
  if (['', 'Ignore', 'Strict', 'Warn'].includes(value)) return []
  return [fault.notSupported('fieldValidation', value, ['', 'Ignore', 'Strict', 'Warn'])]
}
