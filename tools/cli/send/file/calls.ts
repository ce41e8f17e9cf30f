import { type Abi, encodeFunctionData, type Hex, isHex, parseAbiItem } from 'viem'
import { shown } from './words/cells.js'

/** The cells of a row that make it a call. */
export type CallCells = { readonly data: string; readonly function: string; readonly args: string }

/** Returns the given calldata, or encodes a function signature with a JSON array of arguments. */
export function callOf({ data, function: signature, args }: CallCells): Hex | undefined {
  if (signature === '') {
    if (args !== '') throw new Error('has args, and no function')
    if (data === '') return undefined
    if (!isHex(data, { strict: true }) || data.length % 2 !== 0)
      throw new Error(`${shown(data)} is no calldata`)
    return data
  }
  if (data !== '') throw new Error('has both data and a function')
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
    throw new Error(
      `${shown(signature)} is no function: write for example "mint(address to, uint256 amount)"`,
    )
  }
}

function argsOf(text: string): readonly unknown[] {
  if (text === '') return []
  try {
    const read: unknown = JSON.parse(text)
    if (Array.isArray(read)) return read
  } catch {}
  throw new Error(`${shown(text)} is no JSON array of arguments`)
}

export function gasOf(text: string): bigint | undefined {
  if (text === '') return undefined
  if (!/^\d+$/.test(text)) throw new Error(`${shown(text)} is no gas limit`)
  return BigInt(text)
}
