import { clean } from './cells.js'

/** The meaning of a column. */
export const ROLES = [
  'id',
  'to',
  'amount',
  'unit',
  'token',
  'token type',
  'decimals',
  'chain',
  'from',
  'status',
  'function',
  'args',
  'data',
  'gas',
  'note',
] as const
export type Role = (typeof ROLES)[number]

export type Meaning = { readonly role: Role; readonly unit?: string }

const EXACT: Readonly<Record<Exclude<Role, 'to' | 'amount'>, readonly string[]>> = {
  id: ['id', 'payment id', 'payout id', 'row id', 'line id'],
  unit: ['unit', 'units', 'denomination', 'amount unit'],
  token: [
    'token',
    'token address',
    'token contract',
    'token symbol',
    'contract',
    'contract address',
    'asset',
    'coin',
    'currency',
    'ccy',
    'symbol',
    'währung',
    'moneda',
    'devise',
  ],
  'token type': ['token type'],
  decimals: ['decimals', 'token decimals'],
  chain: ['chain', 'chain id', 'chainid', 'network', 'network id', 'blockchain'],
  from: ['from', 'sender', 'from address', 'sender address', 'payer'],
  status: ['status', 'paid', 'done', 'payment status', 'already paid', 'bezahlt'],
  function: ['function', 'method', 'function signature'],
  args: ['args', 'arguments', 'params', 'parameters'],
  data: ['data', 'calldata', 'call data', 'hex data'],
  gas: ['gas', 'gas limit', 'gaslimit'],
  note: [
    'note',
    'notes',
    'memo',
    'memos',
    'reference',
    'ref',
    'comment',
    'comments',
    'description',
    'remark',
    'remarks',
    'message',
    'label',
    'purpose',
    'verwendungszweck',
  ],
}
const MEANINGS = new Map<string, Role>(
  Object.entries(EXACT).flatMap(([role, names]) => names.map((name) => [name, role as Role] as const)),
)

const TO = ['to', 'pay to', 'send to', 'transfer to', 'account', 'destination', 'destino', 'an']
const TO_WORDS = new Set(
  'address addresses addr wallet wallets recipient recipients receiver receivers payee payees beneficiary adresse empfänger dirección destinatario destinataire bénéficiaire'.split(
    ' ',
  ),
)
const NO_RECIPIENT = new Set(
  'token contract from sender payer name names type id label note memo email mail postal street ip tag date'.split(
    ' ',
  ),
)
const AMOUNT_WORDS = new Set(
  'amount amounts value sum total qty quantity pay payment payout salary wage bonus reward rewards grant received sent due net gross betrag summe monto importe cantidad montant'.split(
    ' ',
  ),
)
const NO_AMOUNT = new Set(
  'id no nr number date hash type method status name note memo ref reference for address wallet token'.split(
    ' ',
  ),
)

/** Units and symbols that a header may have in any case. Other symbols count if they are capitals. */
const UNITS = new Set(
  'eth ether wei gwei usdc usdt dai weth wbtc steth xdai pol matic bnb avax celo op arb usd eur gbp chf tokens base'.split(
    ' ',
  ),
)

/**
 * The meaning of a column by its name. `symbols` are the symbols of the currencies in use, in lower case.
 * Undefined for a name that says nothing about the payment.
 */
export function meaningOf(name: string, symbols: ReadonlySet<string> = new Set()): Meaning | undefined {
  const words = wordsOf(name)
  const low = words.map((word) => word.toLowerCase())
  const all = low.join(' ')
  const exact = MEANINGS.get(all)
  if (exact !== undefined) return { role: exact }
  if (TO.includes(all)) return { role: 'to' }
  if (low.some((word) => TO_WORDS.has(word)) && !low.some((word) => NO_RECIPIENT.has(word)))
    return { role: 'to' }
  const isUnit = unitTest(name, symbols)
  const units = words.filter((word) => isUnit(word))
  const named = low.some((word) => AMOUNT_WORDS.has(word)) && !low.some((word) => NO_AMOUNT.has(word))
  if (!named && !(words.length === 1 && units.length === 1 && all !== 'base')) return undefined
  return { role: 'amount', ...(units.length > 0 && { unit: units.join(' ') }) }
}

const SCALES = new Set(
  'k thousand thousands tsd tausend mille miles mil million millions mio mn bn billion billions cent cents centimes céntimos lakh lakhs crore crores percent percentage prozent share shares'.split(
    ' ',
  ),
)

/** The word in the name of an amount's column that multiplies or divides its numbers. */
export function scaleIn(name: string): string | undefined {
  const [mark] = /%|‰|['’]000\b|\(000s?\)|\b000s\b|[x×]\s?1[,.' ]?000/i.exec(name) ?? []
  return mark ?? wordsOf(name).find((word) => SCALES.has(word.toLowerCase()))
}

const PERSON = new Set([
  'name',
  'names',
  'full name',
  'recipient name',
  'receiver name',
  'payee name',
  'beneficiary name',
  'employee',
  'employee name',
  'contractor',
  'contributor',
  'person',
  'nom',
  'nombre',
])

/** Whether the column names the person who is paid. It has no effect on the payment. */
export const isPersonColumn = (name: string): boolean => PERSON.has(wordsOf(name).join(' ').toLowerCase())

function unitTest(name: string, symbols: ReadonlySet<string>): (word: string) => boolean {
  const shouted = name === name.toUpperCase()
  const enclosed = new Set(/[([]\s*(?:in )?([^\s)\]]+)\s*[)\]]/.exec(name)?.slice(1, 2))
  return (word) => {
    const low = word.toLowerCase()
    if (AMOUNT_WORDS.has(low)) return false
    if (UNITS.has(low) || symbols.has(low) || /^[$€£¥Ξ]$/.test(word)) return true
    return /^[A-Z][A-Z0-9.]{1,10}$/.test(word) && (!shouted || enclosed.has(word))
  }
}

/** `walletAddress`, `wallet_address` and `Wallet address:` are the same words. */
export function wordsOf(name: string): readonly string[] {
  return clean(name)
    .normalize('NFKC')
    .replace(/(\p{Ll}|\d)(\p{Lu})/gu, '$1 $2')
    .split(/[^\p{L}\p{N}$€£¥Ξ.]+/u)
    .map((word) => word.replace(/^\.+|\.+$/g, ''))
    .filter((word) => word !== '')
}

const CAREFUL = [
  'recipient',
  'receiver',
  'address',
  'wallet',
  'amount',
  'function',
  'decimals',
  'currency',
  'network',
  'calldata',
]

/** The word that the name of a column is one mistake away from: `ammount` is `amount`. */
export function nearMissOf(name: string): string | undefined {
  if (meaningOf(name) !== undefined) return undefined
  const low = wordsOf(name).join(' ').toLowerCase()
  return CAREFUL.find((word) => isOneEditAway(low, word))
}

function isOneEditAway(a: string, b: string): boolean {
  if (a === b || Math.abs(a.length - b.length) > 1) return false
  let at = 0
  while (at < a.length && at < b.length && a[at] === b[at]) at++
  const [restA, restB] = [a.slice(at), b.slice(at)]
  const swapped = restA.length > 1 && restB.startsWith(`${restA[1]}${restA[0]}`)
  return (
    restA.slice(1) === restB.slice(1) ||
    restA.slice(1) === restB ||
    restA === restB.slice(1) ||
    (swapped && restA.slice(2) === restB.slice(2))
  )
}
