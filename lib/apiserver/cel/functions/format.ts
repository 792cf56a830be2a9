/** The named formats of Kubernetes, such as DNS labels. */
import { labelValueProblems, nameProblems, qualifiedNameProblems, UUID } from '../../model/names.ts'
import { isDate } from '../../model/times.ts'
import { type LibraryValue, ListValue, NONE, Optional } from '../values.ts'
import { isUrl } from './network.ts'
import type { Row } from './table.ts'
import { rfc3339 } from './time.ts'

interface Format extends LibraryValue {
  readonly problems: (text: string) => readonly string[]
}

/** Names of which only a prefix is given may end with a dash. */
function asPrefix(text: string): string {
  return text.replace(/-$/, 'a')
}

function unless(test: (text: string) => boolean, problem: string): (text: string) => readonly string[] {
  return (text) => (test(text) ? [] : [problem])
}

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$/

function uriProblems(text: string): readonly string[] {
  if (text === '') return [`parse "": empty url`]
  if (isUrl(text) && !/\s/.test(text)) return []
  return [`parse ${JSON.stringify(text)}: invalid URI for request`]
}

type Named = readonly [key: string, name: string, problems: (text: string) => readonly string[]]

const FORMATS: ReadonlyMap<string, Format> = new Map(
  ([
    ['dns1123Label', 'DNS1123Label', (text) => nameProblems(text, 'label')],
    ['dns1123Subdomain', 'DNS1123Subdomain', (text) => nameProblems(text, 'subdomain')],
    ['dns1035Label', 'DNS1035Label', (text) => nameProblems(text, 'label1035')],
    ['qualifiedName', 'QualifiedName', qualifiedNameProblems],
    ['dns1123LabelPrefix', 'DNS1123LabelPrefix', (text) => nameProblems(asPrefix(text), 'label')],
    ['dns1123SubdomainPrefix', 'DNS1123SubdomainPrefix', (text) => nameProblems(asPrefix(text), 'subdomain')],
    ['dns1035LabelPrefix', 'DNS1035LabelPrefix', (text) => nameProblems(asPrefix(text), 'label1035')],
    ['labelValue', 'LabelValue', labelValueProblems],
    ['uri', 'URI', uriProblems],
    ['uuid', 'uuid', unless((text) => UUID.test(text), 'does not match the UUID format')],
    ['byte', 'byte', unless((text) => BASE64.test(text), 'invalid base64')],
    ['date', 'date', unless(isDate, 'invalid date')],
    ['datetime', 'datetime', unless((text) => rfc3339(text) !== undefined, 'invalid datetime')],
  ] as readonly Named[]).map(([key, id, problems]) => [key, { typeName: 'kubernetes.NamedFormat', id, problems }]),
)

export const FORMAT: readonly Row[] = [
  ...[...FORMATS].map(([key, format]): Row => [`format.${key}`, '() -> Format', () => format]),
  ['format.named', '(string) -> optional<Format>', (name) => {
    const format = FORMATS.get(name)
    return format ? new Optional(format) : NONE
  }],
  ['validate', 'Format.(string) -> optional<list<string>>', (format: Format, text: string) => {
    const problems = format.problems(text)
    return problems.length > 0 ? new Optional(new ListValue(problems)) : NONE
  }],
]
