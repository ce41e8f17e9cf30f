import type { Hex } from 'viem'
import { Refusal } from './program.js'

/** The derivation path of a mnemonic's first account (BIP-44, coin 60), as used by wallets and devnets. */
export const HD_PATH = "m/44'/60'/0'/0/0"

/**
 * Derives the key of a mnemonic at a path: 12 to 24 words of the English BIP-39 list, without a passphrase.
 *
 * @param place name of the source for error messages; no error shows a word of the mnemonic
 * @throws Refusal
 */
export async function keyOfMnemonic(words: string, hdPath: string, place: string): Promise<Hex> {
  const { HDNodeWallet, Mnemonic } = await import('ethers')
  const phrase = words.trim().toLowerCase().split(/\s+/).join(' ')
  try {
    return HDNodeWallet.fromMnemonic(Mnemonic.fromPhrase(phrase), hdPath).privateKey as Hex
  } catch (error) {
    // ethers reports the violated rule, and the position of an invalid word instead of the word.
    const { shortMessage } = error as { shortMessage?: unknown }
    const why = typeof shortMessage === 'string' ? shortMessage : 'it cannot be read'
    throw new Refusal(`${place} holds no mnemonic (12 to 24 English words, BIP-39): ${why}.`)
  }
}
