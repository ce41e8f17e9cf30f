import { type AuthorizationRequest, Signature, TypedDataEncoder } from 'ethers'
import type { Address, Hex, LocalAccount, SignedAuthorization, TypedDataDefinition } from 'viem'
import { TxlaneError } from '../errors/base.js'
import { unsupported } from '../validate/validate.js'

type TypedData = {
  readonly domain: Parameters<typeof TypedDataEncoder.hash>[0]
  readonly types: Parameters<typeof TypedDataEncoder.hash>[1]
  readonly value: Parameters<typeof TypedDataEncoder.hash>[2]
}

/** What is signed beside transactions, with a viem account. */
export type Signing = {
  message(message: string | Uint8Array): Promise<string>
  /** Names are resolved already. */
  typedData(data: TypedData): Promise<string>
  authorization(asked: AuthorizationRequest & { readonly address: string }): Promise<AuthorizationParts>
}

export type AuthorizationParts = { address: string; nonce: bigint; chainId: bigint; signature: Signature }

/** @throws TxlaneError `UNSUPPORTED` where there is no account, `SIGNER` where it fails or cannot */
export function createSigning(account: LocalAccount | undefined): Signing {
  function own(what: string): LocalAccount {
    if (account !== undefined) return account
    throw unsupported(`${what} without the account`, 'give laneSigner the account as an option')
  }

  return {
    message(message) {
      const { signMessage } = own('signMessage')
      return signed(() => signMessage({ message: typeof message === 'string' ? message : { raw: message } }))
    },
    typedData({ domain, types, value }) {
      const { signTypedData } = own('signTypedData')
      // As JSON, in the one form that ethers and viem agree on: they take different values for the same thing.
      const payload = TypedDataEncoder.getPayload(domain, types, value) as unknown as TypedDataDefinition
      return signed(() => signTypedData(payload))
    },
    async authorization({ address, nonce, chainId }) {
      const { signAuthorization } = own('authorize')
      if (signAuthorization === undefined)
        throw unsupported('authorize', 'an account that signs authorizations')
      const asked = {
        contractAddress: address as Address,
        chainId: Number(chainId ?? 0),
        nonce: Number(nonce ?? 0),
      }
      const { r, s, yParity, v } = await signed<SignedAuthorization>(
        async () => (await signAuthorization(asked)) as SignedAuthorization,
      )
      return {
        address,
        nonce: BigInt(asked.nonce),
        chainId: BigInt(asked.chainId),
        signature: Signature.from({ r, s, v: yParity ?? Number(v) }),
      }
    },
  }
}

async function signed<t = Hex>(sign: () => Promise<t>): Promise<t> {
  try {
    return await sign()
  } catch (cause) {
    throw new TxlaneError('The account could not sign it.', { code: 'SIGNER', fate: 'notExecuted', cause })
  }
}
