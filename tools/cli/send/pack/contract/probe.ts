import {
  type Address,
  type Client,
  decodeFunctionResult,
  encodeAbiParameters,
  encodeFunctionData,
  getAddress,
  type Hex,
  keccak256,
  parseAbi,
  type StateOverride,
  size,
  slice,
  stringToHex,
} from 'viem'
import { call } from 'viem/actions'
import type { Money, Row } from '../../file/rows.js'
import { PROBE_CODE } from './artifact.js'
import { DISPERSE, type Disperse } from './contract.js'
import { type Failure, failureOf } from './failure.js'

const PROBE = parseAbi([
  'function payEther(address disperse, address[] to, uint256[] amounts) returns (uint256[] gained, uint256 spent, uint256 used)',
  'function payToken(address disperse, address token, address[] to, uint256[] amounts) returns (uint256[] gained, uint256 spent, uint256 used, uint256 left)',
  'function strangerDraws(address disperse, address token, uint256 amount, address stranger, bytes[] calls) returns (uint256 drawn)',
])

/** Enough for any payment: a simulation checks the recipients, not the balance. */
const BALANCE = 2n ** 127n

/** Rows to pay in a simulation. */
export type Payments = readonly Pick<Row, 'to' | 'amount'>[]

export type Proof =
  /** Each recipient got its amount, and the account paid no more than the sum. `gas`: of the contract's call. */
  | { readonly kind: 'exact'; readonly gas: bigint }
  | { readonly kind: 'differs'; readonly why: string }
  | Failure

/** Simulates the payment of the rows through the contract, on the newest block. Sends nothing. */
export async function provePayment(
  client: Client,
  account: Address,
  disperse: Address,
  money: Money,
  rows: Payments,
): Promise<Proof> {
  const [to, amounts] = [rows.map((row) => row.to), rows.map((row) => row.amount)]
  const isNative = money.kind === 'native'
  const data = isNative
    ? encodeFunctionData({ abi: PROBE, functionName: 'payEther', args: [disperse, to, amounts] })
    : encodeFunctionData({
        abi: PROBE,
        functionName: 'payToken',
        args: [disperse, money.address, to, amounts],
      })
  const override = [{ address: account, code: PROBE_CODE as Hex, ...(isNative && { balance: BALANCE }) }]
  const answer = await simulate(client, account, account, data, override)
  if (answer.kind !== 'data') return answer
  const [gained, spent, used, left = 0n] = isNative
    ? decodeFunctionResult({ abi: PROBE, functionName: 'payEther', data: answer.data })
    : decodeFunctionResult({ abi: PROBE, functionName: 'payToken', data: answer.data })
  const why = differenceOf(rows, gained, spent, left)
  return why === undefined ? { kind: 'exact', gas: used } : { kind: 'differs', why }
}

function differenceOf(
  rows: Payments,
  gained: readonly bigint[],
  spent: bigint,
  left: bigint,
): string | undefined {
  const owed = new Map<string, bigint>()
  for (const { to, amount } of rows) owed.set(to.toLowerCase(), (owed.get(to.toLowerCase()) ?? 0n) + amount)
  for (const [index, { to }] of rows.entries()) {
    const [got, due] = [gained[index] ?? 0n, owed.get(to.toLowerCase()) ?? 0n]
    if (got !== due) return `${to} gets ${got} of ${due}`
  }
  const sum = rows.reduce((all, { amount }) => all + amount, 0n)
  if (spent > sum) return `the account pays ${spent} for ${sum}`
  return left === 0n ? undefined : `${left} of the approval is left`
}

export type Draw =
  | { readonly kind: 'none' }
  /** A stranger took the approved amount from the account. */
  | { readonly kind: 'drawn'; readonly amount: bigint }
  | { readonly kind: 'unknown'; readonly why: string }

/**
 * Simulates a standing approval and a stranger who makes each call that could draw on it: the known functions of
 * a disperse contract, and every other function of its code with the arguments that would name the account. Once
 * as a contract in a transaction of its own, once called by the account, as a contract that tricks its user.
 */
export async function tryToDraw(
  client: Client,
  account: Address,
  disperse: Disperse,
  token: Address,
  amount: bigint,
): Promise<Draw> {
  const calls = drawingCalls(disperse.code, { account, token, amount })
  const args = [disperse.address, token, amount, STRANGER, calls] as const
  const data = encodeFunctionData({ abi: PROBE, functionName: 'strangerDraws', args })
  const override = [account, STRANGER].map((address) => ({ address, code: PROBE_CODE as Hex }))
  for (const from of [STRANGER, account]) {
    const answer = await simulate(client, from, account, data, override)
    if (answer.kind !== 'data') return { kind: 'unknown', why: answer.why }
    const drawn = decodeFunctionResult({ abi: PROBE, functionName: 'strangerDraws', data: answer.data })
    if (drawn > 0n) return { kind: 'drawn', amount: drawn }
  }
  return { kind: 'none' }
}

/** An address without a known key. */
const STRANGER = getAddress(slice(keccak256(stringToHex('txlane: a stranger')), 12))

/** Recipients that no token has blocked, for a simulation that does not depend on the recipients of the file. */
export const UNUSED: readonly Address[] = ['one', 'two'].map((name) =>
  getAddress(slice(keccak256(stringToHex(`txlane: unused ${name}`)), 12)),
)

const OTHER_FUNCTIONS_MAX = 24

function drawingCalls(
  code: Hex,
  { account, token, amount }: { readonly account: Address; readonly token: Address; readonly amount: bigint },
): Hex[] {
  const args = [token, [STRANGER], [amount]] as const
  const known = (['disperseToken', 'disperseTokenSimple'] as const).map((functionName) =>
    encodeFunctionData({ abi: DISPERSE, functionName, args }),
  )
  const [own, taken] = [account, STRANGER].map(wordOf) as [Hex, Hex]
  const [coin, sum] = [wordOf(token), encodeAbiParameters([{ type: 'uint256' }], [amount])]
  const shapes: readonly (readonly Hex[])[] = [
    [coin, own, taken, sum],
    [coin, own, sum, taken],
    [own, taken, sum, coin],
    [own, coin, sum, taken],
    [coin, taken, own, sum],
    [taken, coin, own, sum],
    [own, sum, coin, taken],
  ]
  const selectors = selectorsOf(code).slice(0, OTHER_FUNCTIONS_MAX)
  const others = selectors.flatMap((selector) =>
    shapes.map((words): Hex => `0x${[selector, ...words].map((hex) => hex.slice(2)).join('')}`),
  )
  return [...known, ...others]
}

const wordOf = (address: Address): Hex => encodeAbiParameters([{ type: 'address' }], [address])

/** The four-byte constants of the code (PUSH4): the functions that it serves are among them. */
function selectorsOf(code: Hex): readonly Hex[] {
  const found = new Set<Hex>()
  for (let at = 0; at + 5 <= size(code); at++) {
    const opcode = Number.parseInt(code.slice(2 + 2 * at, 4 + 2 * at), 16)
    if (opcode === PUSH4) found.add(slice(code, at + 1, at + 5))
    if (opcode >= PUSH1 && opcode <= PUSH32) at += opcode - PUSH1 + 1
  }
  return [...found]
}

const [PUSH1, PUSH4, PUSH32] = [0x60, 0x63, 0x7f]

async function simulate(
  client: Client,
  from: Address,
  to: Address,
  data: Hex,
  stateOverride: StateOverride,
): Promise<{ readonly kind: 'data'; readonly data: Hex } | Failure> {
  try {
    const answer = await call(client, { account: from, to, data, stateOverride })
    if (answer.data !== undefined) return { kind: 'data', data: answer.data }
    return { kind: 'unknown', why: 'it ignores the state override of eth_call' }
  } catch (error) {
    return failureOf(error)
  }
}
