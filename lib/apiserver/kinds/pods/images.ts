/** References of images, such as `registry.example.com/team/app:1.2@sha256:…`. */

const DOMAIN_PART = '[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?'
const DOMAIN = `(?:${DOMAIN_PART}(?:\\.${DOMAIN_PART})*|\\[[a-fA-F0-9:]+\\])(?::[0-9]+)?`
const COMPONENT = '[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*'
const DIGEST = '[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9A-Fa-f]{32,}'
const REFERENCE = new RegExp(
  `^(?:${DOMAIN}/)?${COMPONENT}(?:/${COMPONENT})*(?::(?<tag>\\w[\\w.-]{0,127}))?(?<digest>@${DIGEST})?$`,
)

/** A longer text is no reference: names have at most 255 characters. It also bounds the time of the pattern. */
const MAX_LENGTH = 512

/**
 * Returns whether an image is always pulled by default: it has the tag `latest`, or neither tag nor digest.
 *
 * @see https://github.com/distribution/reference for the grammar. A text that does not follow it is pulled if absent.
 */
export function isLatest(image: string): boolean {
  const groups = image.length <= MAX_LENGTH ? REFERENCE.exec(image)?.groups : undefined
  if (!groups) return false
  return groups['tag'] === 'latest' || (groups['tag'] === undefined && groups['digest'] === undefined)
}
