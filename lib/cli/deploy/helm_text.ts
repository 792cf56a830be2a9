/** Writes YAML with the actions of Helm's templates. */
import { yamlText } from '../yaml_text.ts'
import type { AnyObject } from './files.ts'

/** Stands for the release's namespace in the objects of a chart, until they are templates. */
export const RELEASE_NAMESPACE = 'kubeloop-release-namespace'

/** Begins strings that are no text but a part of the template. No valid object has it. */
const CODE = '\u0001'

let lines = 0

/** Returns a value that is written as the action with this pipeline. */
export function code(pipeline: string): string {
  return `${CODE}{{ ${pipeline} }}`
}

/**
 * Returns an entry of a map that is written as lines of the template. In the text, `@own` is their indentation and
 * `@below` the next deeper one.
 */
export function line(text: string): Readonly<Record<string, string>> {
  return { [`${CODE}${lines++}${CODE}`]: `${CODE}${text}` }
}

/** Returns the object with its own braces escaped, so that they are no actions. */
export function escaped<T>(value: T): T {
  if (typeof value === 'string') return value.replaceAll('{{', () => '{{ `{{` }}') as T
  if (Array.isArray(value)) return value.map((each) => escaped<unknown>(each)) as T
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).filter(([, each]) => each !== undefined).map(([key, each]) => [escaped(key), escaped(each)]),
  ) as T
}

/** Returns the YAML of an object with {@link code} and {@link line}. */
export function templateText(object: AnyObject): string {
  return yamlText(object)
    .replace(
      /^( *)"\\u0001\d+\\u0001": ("(?:[^"\\]|\\.)*")$/gm,
      (_, indent: string, value: string) =>
        (JSON.parse(value) as string).slice(CODE.length)
          .replaceAll('@own', String(indent.length))
          .replaceAll('@below', String(indent.length + 2))
          .split('\n')
          .map((each) => indent + each)
          .join('\n'),
    )
    .replace(/"\\u0001(?:[^"\\]|\\.)*"/g, (value) => (JSON.parse(value) as string).slice(CODE.length))
}

/** Replaces {@link RELEASE_NAMESPACE}. A value of its own is quoted, as a namespace may have digits only. */
export function namespaceInTemplate(text: string): string {
  return text
    .replace(new RegExp(`(: |- )${RELEASE_NAMESPACE}$`, 'gm'), '$1{{ .Release.Namespace | quote }}')
    .replaceAll(RELEASE_NAMESPACE, '{{ .Release.Namespace }}')
}
