/** Parses references to container images. */

/** The longest name of a repository that registries accept. */
const MAX_LENGTH = 255

const HOST = /[A-Za-z\d](?:[A-Za-z\d.-]*[A-Za-z\d])?(?::\d+)?|\[[A-Fa-f\d:]+\](?::\d+)?/.source
const PART = /[a-z\d]+(?:(?:\.|_|__|-+)[a-z\d]+)*/.source
const REFERENCE = new RegExp(
  `^((?:(?:${HOST})/)?${PART}(?:/${PART})*)(?::([\\w][\\w.-]{0,127}))?(?:@([a-z\\d]+(?:[.+_-][a-z\\d]+)*:[a-f\\d]{32,}))?$`,
)

/**
 * Returns the parts of a reference, or undefined if it is invalid.
 *
 * @see https://github.com/distribution/reference/blob/main/reference.go
 */
export function parseImage(text: string): { repository: string; tag?: string; digest?: string } | undefined {
  const [, repository, tag, digest] = REFERENCE.exec(text) ?? []
  return repository === undefined || repository.length > MAX_LENGTH
    ? undefined
    : { repository, ...(tag !== undefined && { tag }), ...(digest !== undefined && { digest }) }
}
