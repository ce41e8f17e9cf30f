import {
  type Abi,
  type Address,
  encodeFunctionData,
  erc20Abi,
  type Hex,
  isAddress,
  isHex,
  keccak256,
  parseAbiItem,
  stringToHex,
  zeroAddress,
} from 'viem'
import { parseAmount } from './amounts.js'
import type { Money, Problem, RawRow, Row } from './rows.js'

/** Checks all lines. Returns the rows, or all problems: the caller sends nothing if one line is invalid. */
export function checkRows(
  raw: readonly RawRow[],
  money: Money,
  unit: string | undefined,
): { rows: readonly Row[]; problems: readonly Problem[] } {
  const rows: Row[] = []
  const problems: Problem[] = []
  const ids = new Map<string, number>()
  const times = new Map<string, number>()
  const named = raw.some(({ fields }) => fields.id !== undefined)
  for (const { line, fields } of raw) {
    try {
      const { to, amount, request } = rowOf(fields, money, unit)
      const id = named ? namedId(fields.id, ids, line) : contentId(request, times)
      rows.push({
        line,
        id,
        to,
        amount,
        money,
        request,
        cells: Object.values(fields).map((each) => each ?? ''),
      })
    } catch (error) {
      problems.push({ line, message: (error as Error).message })
    }
  }
  return { rows, problems }
}

const ID_LENGTH_MAX = 100

function namedId(id: string | undefined, ids: Map<string, number>, line: number): string {
  if (id === undefined) throw new Error('has no id, while others have one')
  if (id.length > ID_LENGTH_MAX || /[~\s]/.test(id)) {
    throw new Error(`"${id}" is no id: up to ${ID_LENGTH_MAX} characters, no spaces and no ~`)
  }
  const first = ids.get(id)
  if (first !== undefined) throw new Error(`has the id "${id}" of line ${first}`)
  ids.set(id, line)
  return id
}

/** A hash of the content, plus its occurrence number: equal lines are separate payments, in any order. */
function contentId({ to, value, data }: Row['request'], times: Map<string, number>): string {
  const content = keccak256(stringToHex(`${to.toLowerCase()} ${value} ${data ?? '0x'}`)).slice(2, 18)
  const time = (times.get(content) ?? 0) + 1
  times.set(content, time)
  return `${content}-${time}`
}

type Fields = RawRow['fields']

function rowOf(
  fields: Fields,
  money: Money,
  unit: string | undefined,
): Pick<Row, 'to' | 'amount' | 'request'> {
  const to = addressOf(fields.to)
  const gas = gasOf(fields.gas)
  const data = callOf(fields)
  if (data !== undefined) {
    if (money.kind === 'token') throw new Error('is a call: --token only supports transfers of that token')
    const value = fields.amount === undefined ? 0n : parseAmount(fields.amount, money, unit)
    return { to, amount: value, request: { to, value, data, ...gas } }
  }
  if (fields.amount === undefined) throw new Error('has neither an amount nor a call')
  const amount = parseAmount(fields.amount, money, unit)
  if (amount === 0n) throw new Error('pays nothing')
  if (to === zeroAddress) throw new Error('pays to the zero address, which cannot return it')
  if (money.kind === 'native') return { to, amount, request: { to, value: amount, ...gas } }
  if (to.toLowerCase() === money.address.toLowerCase()) {
    throw new Error('pays the token to its own contract, which cannot return it')
  }
  const transfer = encodeFunctionData({ abi: erc20Abi, functionName: 'transfer', args: [to, amount] })
  return { to, amount, request: { to: money.address, value: 0n, data: transfer, ...gas } }
}

function addressOf(text: string | undefined): Address {
  if (text === undefined) throw new Error('has no "to"')
  if (!isAddress(text, { strict: false })) throw new Error(`"${text}" is no address`)
  if (!isAddress(text)) throw new Error(`"${text}" has a wrong checksum: a character is wrong`)
  return text
}

function gasOf(text: string | undefined): { gas?: bigint } {
  if (text === undefined) return {}
  if (!/^\d+$/.test(text)) throw new Error(`"${text}" is no gas limit`)
  return { gas: BigInt(text) }
}

/** Returns the given calldata, or encodes a function signature with a JSON array of arguments. */
function callOf({ data, function: signature, args }: Fields): Hex | undefined {
  if (signature === undefined) {
    if (args !== undefined) throw new Error('has args, and no function')
    if (data === undefined) return undefined
    if (!isHex(data, { strict: true }) || data.length % 2 !== 0) throw new Error(`"${data}" is no calldata`)
    return data
  }
  if (data !== undefined) throw new Error('has both data and a function')
  const abi = abiOf(signature)
  const given = argsOf(args)
  try {
    return encodeFunctionData({ abi, args: given } as Parameters<typeof encodeFunctionData>[0])
  } catch (error) {
    throw new Error(
      `the arguments do not fit ${signature}: ${(error as { shortMessage?: string }).shortMessage ?? error}`,
    )
  }
}

function abiOf(signature: string): Abi {
  try {
    return [parseAbiItem(`function ${signature.replace(/^function /, '')}`)] as Abi
  } catch {
    throw new Error(`"${signature}" is no function: write for example "mint(address to, uint256 amount)"`)
  }
}

function argsOf(text: string | undefined): readonly unknown[] {
  if (text === undefined) return []
  try {
    const read: unknown = JSON.parse(text)
    if (Array.isArray(read)) return read
  } catch {}
  throw new Error(`"${text}" is no JSON array of arguments`)
}
