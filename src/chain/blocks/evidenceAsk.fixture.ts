import type { Address, Hash } from 'viem'
import {
  hashOf,
  type ScriptedChain,
  scriptedChain,
  scriptedPort,
  type Use,
} from '../../../test/support/scriptedChain.js'
import type { Signatures } from '../../rpc/signatures.js'
import { type ReadEvidenceQuery, readEvidence } from './nonceEvidence.js'

export const ADDRESS = '0xabcdefabcdefabcdefabcdefabcdefabcdefabcd'
export const own = (nonce: number) => new Set([hashOf('own', nonce, 1), hashOf('own', nonce, 2)])
export const mine = (nonce: number) => hashOf('own', nonce, 1)
export const foreign = (nonce: number) => hashOf('foreign', nonce)
export const UNSURE = { kind: 'unsure' }
export const NOTHING = /^(unsure|unreadable)$/
export const UNREADABLE = { kind: 'unreadable' }
/** The stand-in for a signature here: whoever the endpoint names has signed. */
export const signatures: Signatures = {
  signerOf: async ({ from }) => from as Address,
  authorityOf: async () => undefined,
}
export const isOwn = (hash: Hash) => hash.startsWith('0xa')
export const one = (nonce: number) => [{ nonce, hash: foreign(nonce) }]

/** A chain of `length` blocks in which the account did something in a few. */
export function chainWith(length: number, uses: Record<number, readonly Use[]>): ScriptedChain {
  return scriptedChain(
    ADDRESS,
    Array.from({ length }, (_, number) => uses[number] ?? []),
  )
}

export type Ask = Partial<ReadEvidenceQuery> & Pick<ReadEvidenceQuery, 'nonce' | 'from' | 'to'>

export function ask(
  chain: ScriptedChain,
  query: Ask,
  answer: Parameters<typeof scriptedPort>[0] = chain.answer,
) {
  const port = scriptedPort(answer)
  return { port, verdict: readEvidence(port, { address: ADDRESS, own, isOwn, signatures, ...query }) }
}
