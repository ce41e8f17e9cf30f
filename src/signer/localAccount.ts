import {
  type Address,
  type AuthorizationRequest,
  concat,
  getTypesForEIP712Domain,
  type Hex,
  hashDomain,
  hashMessage,
  hashStruct,
  hashTypedData,
  type LocalAccount,
  numberToHex,
  type TransactionSerializable,
  type TypedDataDefinition,
  toPrefixedMessage,
  toRlp,
} from 'viem'
import { toAccount } from 'viem/accounts'
import { hashAuthorization } from 'viem/utils'
import type { EnvelopeSigner } from '../types/index.js'
import { compact, fieldsOf, type Signature } from './engine.js'
import type { Serializer } from './envelope.js'

/** A key, and the function that signs with it. */
export type Key<source extends string> = {
  readonly address: Address
  /** 65 bytes, uncompressed. */
  readonly publicKey: Hex
  readonly source: source
  /** Signs a hash. `preimage` returns the hashed bytes; undefined if they are not known. */
  readonly sign: (hash: Hex, preimage: (() => Hex) | undefined) => Promise<Signature>
  readonly signEnvelope: EnvelopeSigner['signEnvelope']
}

/** A local account that signs everything that viem supports, and whole envelopes for a lane. */
export type FullAccount<source extends string = string> = LocalAccount<source> &
  EnvelopeSigner & {
    sign: NonNullable<LocalAccount['sign']>
    signAuthorization: NonNullable<LocalAccount['signAuthorization']>
  }

/** The viem account of a key. All its signatures come from `sign` and `signEnvelope`. */
export function localAccountOf<source extends string>(key: Key<source>): FullAccount<source> {
  const account = toAccount({
    address: key.address,
    sign: async ({ hash }) => compact(await key.sign(hash, undefined)),
    signMessage: async ({ message }) =>
      compact(await key.sign(hashMessage(message), () => toPrefixedMessage(message))),
    async signTypedData(parameters) {
      const typedData = parameters as TypedDataDefinition
      return compact(await key.sign(hashTypedData(typedData), () => typedDataPreimage(typedData)))
    },
    async signTransaction(transaction, options) {
      const { raw } = await key.signEnvelope(
        transaction as TransactionSerializable,
        options?.serializer as Serializer | undefined,
      )
      return raw as never
    },
    async signAuthorization(parameters) {
      const { chainId, nonce } = parameters
      const address = parameters.contractAddress ?? parameters.address
      const tuple = { address, chainId, nonce }
      const signature = await key.sign(hashAuthorization(tuple), () => authorizationPreimage(tuple))
      return { ...tuple, ...fieldsOf(signature) }
    },
  })
  return {
    ...account,
    publicKey: key.publicKey,
    source: key.source,
    signsAs: key.address,
    signEnvelope: key.signEnvelope,
  } as never
}

/** The bytes that `hashTypedData` hashes (EIP-712), after it has checked the input. */
function typedDataPreimage({ domain = {}, message, primaryType, types }: TypedDataDefinition): Hex {
  const all = { EIP712Domain: getTypesForEIP712Domain({ domain }), ...types }
  const head = ['0x1901', hashDomain({ domain, types: all } as never)] as const
  if (primaryType === 'EIP712Domain') return concat(head)
  return concat([...head, hashStruct({ data: message, primaryType, types: all } as never)])
}

type Tuple = { readonly address: Address } & Pick<AuthorizationRequest, 'chainId' | 'nonce'>

/** The bytes that `hashAuthorization` hashes (EIP-7702). */
function authorizationPreimage({ address, chainId, nonce }: Tuple): Hex {
  const item = (value: number) => (value === 0 ? '0x' : numberToHex(value))
  return concat(['0x05', toRlp([item(chainId), address, item(nonce)])])
}
