/** The forms of names that the API server knows. */

/** A domain name in lower case, of at most 253 characters: a DNS subdomain as RFC 1123 has it. */
export function isDomainName(text: string): boolean {
  return text.length <= 253 && /^[a-z\d](?:[-a-z\d]*[a-z\d])?(?:\.[a-z\d](?:[-a-z\d]*[a-z\d])?)*$/.test(text)
}

/** 1 to 63 letters, digits, "-", "_" and ".", which begin and end with a letter or digit: a label's name, or its value. */
export function isLabelText(text: string): boolean {
  return /^[A-Za-z\d](?:[-\w.]{0,61}[A-Za-z\d])?$/.test(text)
}
