import {
  type Abi,
  type Address,
  BaseError,
  encodeDeployData,
  encodeFunctionData,
  getContractError,
  type Hex,
} from 'viem'
import { isTxlaneError, TxlaneError } from '../errors/base.js'
import { invalid } from '../errors/invalid.js'
import type { TxRequest } from '../types/index.js'
import { object } from './validate.js'

/** The request of a contract call in the form of viem's `writeContract`, with the decoder of its errors. */
export type ContractCall = {
  readonly request: TxRequest
  /** Decodes custom errors like viem, so that `walk` finds the `ContractFunctionRevertedError`. */
  readonly decode: (error: unknown) => unknown
}

type Loose = {
  abi: Abi
  address?: Address
  functionName?: string
  args?: readonly unknown[]
  bytecode?: Hex
  dataSuffix?: Hex
  account?: unknown
}

const NOT_FIELDS = new Set(['abi', 'address', 'args', 'functionName', 'bytecode', 'dataSuffix', 'account'])

export function contractCall(parameters: unknown, sender: Address): ContractCall {
  const loose = object('parameters', parameters) as unknown as Loose
  const { abi, address, functionName = '', args = [], dataSuffix } = loose
  if (!Array.isArray(abi)) throw invalid('parameters.abi', abi, 'the ABI of the contract')
  checkSender(loose, sender)
  if (address === undefined) throw invalid('parameters.address', address, 'the address of a contract')
  const data = encoded('parameters.args', () => encodeFunctionData({ abi, functionName, args }))
  const request = requestOf(loose, {
    to: address,
    data: dataSuffix ? (`${data}${dataSuffix.slice(2)}` as Hex) : data,
  })
  return { request, decode: (error) => decoded(error, { abi, address, functionName, args, sender }) }
}

export function deployCall(parameters: unknown, sender: Address): ContractCall {
  const loose = object('parameters', parameters) as unknown as Loose
  const { abi, args = [], bytecode } = loose
  if (!Array.isArray(abi)) throw invalid('parameters.abi', abi, 'the ABI of the contract')
  checkSender(loose, sender)
  if (typeof bytecode !== 'string' || !/^0x([0-9a-f]{2})+$/i.test(bytecode))
    throw invalid('parameters.bytecode', bytecode, 'the bytecode to deploy, in hex')
  const data = encoded('parameters.args', () => encodeDeployData({ abi, bytecode, args }))
  const decode = (error: unknown) => decoded(error, { abi, functionName: 'constructor', args, sender })
  return { request: requestOf(loose, { data }), decode }
}

/** viem puts the account of a simulation into its request. An account other than that of the lane is a mistake. */
function checkSender({ account }: Loose, sender: Address): void {
  const given =
    typeof account === 'string' ? account : (account as { address?: string } | null | undefined)?.address
  if (given !== undefined && given.toLowerCase() !== sender.toLowerCase()) {
    throw invalid('parameters.account', given, `the lane's own account ${sender}`)
  }
}

function encoded(argument: string, encode: () => Hex): Hex {
  try {
    return encode()
  } catch (cause) {
    throw new TxlaneError(`Invalid ${argument}: they do not fit the ABI.`, {
      code: 'INVALID',
      fate: 'notExecuted',
      cause,
    })
  }
}

function requestOf(parameters: Loose, fields: { to?: Address; data: Hex }): TxRequest {
  const rest = Object.entries(parameters).filter(
    ([key, value]) => !NOT_FIELDS.has(key) && value !== undefined,
  )
  return { ...Object.fromEntries(rest), ...fields } as TxRequest
}

function decoded(
  error: unknown,
  call: { abi: Abi; address?: Address; functionName: string; args: readonly unknown[]; sender: Address },
): unknown {
  if (!isTxlaneError(error) || !(error.cause instanceof BaseError)) return error
  const { abi, address, functionName, args, sender } = call
  const cause = getContractError(error.cause, {
    abi,
    args,
    functionName,
    sender,
    docsPath: '/docs/contract/writeContract',
    ...(address ? { address } : {}),
  })
  const { code, fate, tx, shortMessage } = error
  return new TxlaneError(shortMessage, { code, fate, tx, cause })
}
