/** Reads the origins by which services of worlds are named. */

/** @throws TypeError if the URL is not an origin. */
export function originOf(url: string, cannot: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  if (parsed && /^https?:$/.test(parsed.protocol) && `${parsed.origin}/` === parsed.href) return parsed.origin
  throw new TypeError(`${cannot} "${url}": give its origin, such as 'https://cdn.example.com'`)
}
