import {
  type Address,
  type Chain,
  type Client,
  decodeAbiParameters,
  encodeFunctionData,
  erc20Abi,
  type Hex,
  hexToString,
  size,
  type Transport,
} from 'viem'
import { call } from 'viem/actions'
import type { Money } from './rows.js'

export type Token = Extract<Money, { kind: 'token' }>
export type PayoutChain = { readonly client: Client<Transport, Chain>; readonly chain: Chain }

/** Tokens by their addresses in lower case, or the reason why a contract is none. */
export type Tokens = ReadonlyMap<string, Token | Error>

/** Reads the decimals and the symbol of each contract once. */
export async function readTokens(addresses: readonly Address[], chain: PayoutChain): Promise<Tokens> {
  const distinct = new Map(addresses.map((address) => [address.toLowerCase(), address]))
  return new Map(
    await Promise.all(
      [...distinct].map(async ([key, address]) => [key, await readToken(address, chain)] as const),
    ),
  )
}

async function readToken(address: Address, { client, chain }: PayoutChain): Promise<Token | Error> {
  const read = async (functionName: 'decimals' | 'symbol') => {
    const { data } = await call(client, {
      to: address,
      data: encodeFunctionData({ abi: erc20Abi, functionName }),
    })
    return data ?? '0x'
  }
  try {
    const [decimals, symbol] = await Promise.all([
      read('decimals').then(decimalsFrom),
      read('symbol').then(symbolFrom),
    ])
    return { kind: 'token', address, symbol, decimals }
  } catch {
    return new Error(
      `${address} does not answer decimals() and symbol() on ${chain.name}: is it a token there?`,
    )
  }
}

function decimalsFrom(data: Hex): number {
  const [decimals] = decodeAbiParameters([{ type: 'uint256' }], data)
  if (decimals > 255n) throw new Error('no decimals')
  return Number(decimals)
}

const SYMBOL_MAX = 20

/** Some tokens of the first years, such as MKR, return 32 bytes instead of a string. */
function symbolFrom(data: Hex): string {
  const text =
    size(data) === 32 ? hexToString(data, { size: 32 }) : decodeAbiParameters([{ type: 'string' }], data)[0]
  // A token chooses its symbol: it must not write control characters to the terminal.
  const symbol = text.replace(/[\p{C}\p{Z}]/gu, '').slice(0, SYMBOL_MAX)
  if (symbol === '') throw new Error('no symbol')
  return symbol
}
