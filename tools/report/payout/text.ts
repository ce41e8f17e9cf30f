/**
 * Characters that have no shape of their own: controls, marks that reorder the text around them, and empty
 * ones. A name that hides them could pass for another. Joiners stay, because emoji and several scripts need
 * them.
 */
const HIDDEN =
  /[\p{Cc}\p{Cs}\u00ad\u061c\u115f\u1160\u180e\u200b\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb]/gu

/** More accents on one letter than any script has would cover the lines above and below. */
const MARKS = /(\p{M}{4})\p{M}+/gu

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? '')
}

/**
 * HTML of a text from outside: no markup in it works, hidden characters show their code, its direction does
 * not reach the text around it, and its length is limited.
 */
export function foreignText(text: string, max: number): string {
  const tidy = text.replaceAll(/\s+/g, ' ').trim().replaceAll(MARKS, '$1')
  const marked = escapeHtml(cut(tidy, max)).replaceAll(
    HIDDEN,
    (character) => `<i class="code">${codeOf(character)}</i>`,
  )
  return `<bdi>${marked}</bdi>${tidy.length > max ? '…' : ''}`
}

/** The text for places without markup, such as the title of the window. */
export function plainText(text: string, max: number): string {
  return cut(text.replaceAll(HIDDEN, ' '), max)
}

/** Does not split a character of two code units. */
export function cut(text: string, max: number): string {
  if (text.length <= max) return text
  const isSplit = /[\ud800-\udbff]/.test(text.charAt(max - 1))
  return text.slice(0, isSplit ? max - 1 : max)
}

function codeOf(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`
}

/** A text without case and accents, as a search compares it. */
export function folded(text: string): string {
  return text.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase()
}
