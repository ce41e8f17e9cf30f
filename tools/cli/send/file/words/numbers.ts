/** The mark before the fraction of a number. The other one may separate thousands. */
export type Decimal = 'point' | 'comma'

// Thousands are separated by the same mark throughout, and no number begins with a group of zeros.
const GROUPED = {
  point: /^[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?$/,
  comma: /^[1-9]\d{0,2}(?:\.\d{3})+(?:,\d+)?$/,
}
// As in India: groups of two digits above the thousands. Other groups would be of three digits.
const INDIAN = /^[1-9]\d?(?:,\d\d)+,\d{3}(?:\.\d+)?$/
const SPACED = /^[1-9]\d{0,2}([ '’_])\d{3}(?:\1\d{3})*(?:[.,]\d+)?$/
const PLAIN = { point: /^\d*(?:\.\d+)?$/, comma: /^\d*(?:,\d+)?$/ }
const EXPONENT_MAX = 100

/** A number as `digits × 10^-scale`, without rounding. */
export type Exact = { readonly digits: bigint; readonly scale: number }

/** The number in the notation; undefined if the text is none. */
export function readNumber(text: string, decimal: Decimal): Exact | undefined {
  const [, body = '', exponent = '0'] = /^([^e]+)(?:e([+-]?\d{1,4}))?$/i.exec(text) ?? []
  const isScientific = exponent !== '0'
  const mark = decimal === 'point' ? '.' : ','
  const isIndian = decimal === 'point' && INDIAN.test(body)
  const isSpaced = SPACED.test(body) && !body.includes(decimal === 'point' ? ',' : '.')
  if (!PLAIN[decimal].test(body) && (isScientific || !(GROUPED[decimal].test(body) || isSpaced || isIndian)))
    return undefined
  const [whole = '', fraction = ''] = body.split(mark)
  const scale = fraction.length - Number(exponent)
  if (Math.abs(scale) > EXPONENT_MAX || `${whole}${fraction}` === '') return undefined
  return { digits: BigInt(`${whole.replace(/\D/g, '')}${fraction}`), scale }
}

/** The number in units of `10^-decimals`; undefined if it has more decimals than these. */
export function scaled({ digits, scale }: Exact, decimals: number): bigint | undefined {
  if (scale <= decimals) return digits * 10n ** BigInt(decimals - scale)
  const divisor = 10n ** BigInt(scale - decimals)
  return digits % divisor === 0n ? digits / divisor : undefined
}

/** The evidence of one number for the notation of its column. `either`: it has two readings with different values. */
export function notationOf(text: string): Decimal | 'either' | 'none' {
  if (/^\d+$/.test(text)) return 'none'
  // Most numbers have one mark, which does not stand where it could separate thousands.
  if (/^\d*\.(?:\d{1,2}|\d{4,})$/.test(text)) return 'point'
  const [point, comma] = [readNumber(text, 'point'), readNumber(text, 'comma')]
  if (point === undefined) return comma === undefined ? 'none' : 'comma'
  if (comma === undefined) return 'point'
  return point.digits === comma.digits && point.scale === comma.scale ? 'none' : 'either'
}
