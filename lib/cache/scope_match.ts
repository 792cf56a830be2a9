/** Whether an object that somebody else has read is one that an informer would have, decided as the server decides it. */
import type { ObjectMeta } from '../core/objects.ts'
import { parseLabelSelector } from '../core/selectors.ts'
import type { SelectOptions } from '../client/requests.ts'

/** `elsewhere`: the informer can never have it. `unselected`: not as it is now. */
export type ScopeMatch = 'selected' | 'unselected' | 'elsewhere'

/** Undefined where only the server can tell: fields other than name and namespace are each kind's own. */
export function scopeMatch(
  options: SelectOptions & { readonly namespace?: string | undefined },
): ((metadata: ObjectMeta) => ScopeMatch) | undefined {
  const { namespace, labels, fields } = options
  const isNamed = namePredicate(fields)
  if (!isNamed) return undefined
  const selects = labels === undefined ? undefined : parseLabelSelector(labels)
  return (metadata) => {
    if ((namespace !== undefined && metadata.namespace !== namespace) || !isNamed(metadata)) return 'elsewhere'
    return !selects || selects(metadata.labels) ? 'selected' : 'unselected'
  }
}

/** As apimachinery reads field selectors: terms with `=`, `==` or `!=`, separated by commas. */
function namePredicate(fields = ''): ((metadata: ObjectMeta) => boolean) | undefined {
  const terms = fields.split(',').filter((term) => term !== '').map((term) =>
    /^metadata\.(name|namespace)(=|==|!=)([^=!\\]*)$/.exec(term)
  )
  if (!terms.every((term) => term !== null)) return undefined
  return (metadata) =>
    terms.every(([, field, operator, value]) => {
      return ((metadata[field as 'name' | 'namespace'] ?? '') === value) === (operator !== '!=')
    })
}
