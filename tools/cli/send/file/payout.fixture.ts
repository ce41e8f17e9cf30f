import { readFileSync } from 'node:fs'
import {
  type Address,
  type Chain,
  createClient,
  custom,
  decodeFunctionData,
  encodeAbiParameters,
  encodeFunctionResult,
  erc20Abi,
  type Hex,
  multicall3Abi,
  namehash,
  parseAbi,
  stringToHex,
  zeroAddress,
} from 'viem'
import { mainnet } from 'viem/chains'
import { checkRows } from './check.js'
import { columnsOf } from './columns.js'
import { moneysOf } from './money.js'
import { type FileOptions, payoutOf } from './payout.js'
import type { Payout, Row } from './rows.js'
import { readDelimited } from './table/delimited.js'
import { bytesSource } from './table/source.js'
import { textOf } from './table/text.js'

export const ANNA = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
export const BOB = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC'
export const CARL = '0x90F79bf6EB2c4f870365E785982E1f101E93b906'
export const ETHER = 10n ** 18n

/** Tokens of the stub chain. */
export const TOKENS = {
  GNO: { address: '0x6810e776880C02933D47DB1b9fc05908e5386b96', decimals: 18 },
  DAI: { address: '0x6B175474E89094C44Da98b954EedeAC495271d0F', decimals: 18 },
  USDC: { address: '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48', decimals: 6 },
  MKR: { address: '0x9f8F72aA9304c8B593d555F12eF6589cC3A579A2', decimals: 18, bytes32: true },
} as const satisfies Record<string, StubToken>

export type StubToken = { readonly address: Address; readonly decimals: number; readonly bytes32?: boolean }

export type StubChain = {
  readonly chain: Chain
  readonly tokens: Readonly<Record<string, StubToken>>
  /** The addresses of ENS names. */
  readonly names: Readonly<Record<string, Address>>
}

export const MAINNET: StubChain = {
  chain: mainnet,
  tokens: TOKENS,
  names: { 'vitalik.eth': '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045', 'anna.eth': ANNA },
}

/** A client of the stub chain, and the number of its requests. */
export function stubClient({ chain, tokens, names }: StubChain) {
  const requests: string[] = []
  const nodes = new Map(Object.entries(names).map(([name, address]) => [namehash(name), address]))
  const request = async ({ method, params }: { method: string; params: [{ to: Address; data: Hex }] }) => {
    if (method !== 'eth_call') throw new Error(`the stub does not serve ${method}`)
    requests.push(params[0].to)
    return answerOf(params[0].to, params[0].data)
  }
  const client = createClient({ chain, transport: custom({ request } as never, { retryCount: 0 }) })
  return { client, chain, requests }

  function answerOf(to: Address, data: Hex): Hex {
    const is = (other: Address | undefined) => other?.toLowerCase() === to.toLowerCase()
    if (is(chain.contracts?.multicall3?.address)) {
      const { args } = decodeFunctionData({ abi: multicall3Abi, data })
      const calls = (args as readonly [readonly { target: Address; callData: Hex }[]])[0]
      const result = calls.map(({ target, callData }) => {
        try {
          return { success: true, returnData: answerOf(target, callData) }
        } catch {
          return { success: false, returnData: '0x' as const }
        }
      })
      return encodeFunctionResult({ abi: multicall3Abi, functionName: 'aggregate3', result })
    }
    if (is(chain.contracts?.ensUniversalResolver?.address)) return resolved(data)
    const [symbol, token] = Object.entries(tokens).find(([, each]) => is(each.address)) ?? []
    if (symbol === undefined || token === undefined) return '0x'
    const { functionName } = decodeFunctionData({ abi: erc20Abi, data })
    if (functionName === 'decimals') return encodeAbiParameters([{ type: 'uint8' }], [token.decimals])
    if (token.bytes32) return stringToHex(symbol, { size: 32 })
    return encodeAbiParameters([{ type: 'string' }], [symbol])
  }

  function resolved(data: Hex): Hex {
    const call = decodeFunctionData({ abi: RESOLVER, data })
    if (call.functionName === 'reverseWithGateways') {
      const [name] = Object.entries(names).find(([, address]) => address.toLowerCase() === call.args[0]) ?? [
        '',
      ]
      return encodeAbiParameters(
        [{ type: 'string' }, { type: 'address' }, { type: 'address' }],
        [name, ANNA, ANNA],
      )
    }
    const node = decodeFunctionData({ abi: ADDRESS_OF, data: call.args[1] }).args[0]
    const inner = encodeAbiParameters([{ type: 'address' }], [nodes.get(node) ?? zeroAddress])
    return encodeAbiParameters([{ type: 'bytes' }, { type: 'address' }], [inner, ANNA])
  }
}

const RESOLVER = parseAbi([
  'function resolveWithGateways(bytes name, bytes data, string[] gateways) view returns (bytes, address)',
  'function reverseWithGateways(bytes reverseName, uint256 coinType, string[] gateways) view returns (string, address, address)',
])
const ADDRESS_OF = parseAbi(['function addr(bytes32 node) view returns (address)'])

const NO_OPTIONS: FileOptions = {
  tokens: [],
  unit: undefined,
  columns: undefined,
  decimal: undefined,
  sheet: undefined,
}

export type Given = Partial<FileOptions> & { readonly on?: StubChain }

/** The payout of a file with this content. */
export function payoutIn(
  content: string | Uint8Array,
  { on = MAINNET, ...options }: Given = {},
): Promise<Payout> {
  const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content
  return payoutOf(bytesSource(bytes), 'pay.csv', { ...NO_OPTIONS, ...options }, stubClient(on))
}

/** The message of the refusal, or of the fact that there is none. */
export function refusalIn(content: string | Uint8Array, given?: Given): Promise<string> {
  return payoutIn(content, given).then(
    ({ rows }) => `paid ${rows.length} lines`,
    (error: Error) => error.message,
  )
}

/** The rows of a CSV file of native payments, at once. */
export function rowsOfCsv(text: string): readonly Row[] {
  const table = readDelimited(
    textOf(() => [text]),
    'UTF-8',
  )
  const { columns } = columnsOf(table, undefined, new Set())
  const moneys = moneysOf({ kind: 'native', symbol: 'ETH' }, new Map(), [])
  const chain = { id: 1, name: 'Ethereum' }
  const rest = { resolutions: new Map(), decimal: 'point', unit: undefined, account: undefined } as const
  return checkRows(table.rows, table.rows.length, { columns, chain, moneys, ...rest }).rows
}

/** One of the sample files, made after files that other tools write. */
export function sample(name: string): Uint8Array {
  return readFileSync(new URL(`samples/${name}`, import.meta.url))
}
