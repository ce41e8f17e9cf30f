import type { Hex } from 'viem'
import { Refusal } from './program.js'

/** The first account of a mnemonic (BIP-44, coin 60), as wallets and devnets derive it. */
export const HD_PATH = "m/44'/60'/0'/0/0"

/**
 * The key at a path of a mnemonic: 12 to 24 words of the English list of BIP-39, without a passphrase.
 *
 * @param place what holds it, for errors; no error shows a word of it
 * @throws Refusal
 */
export async function keyOfMnemonic(words: string, hdPath: string, place: string): Promise<Hex> {
  const { HDNodeWallet, Mnemonic } = await import('ethers')
  const phrase = words.trim().toLowerCase().split(/\s+/).join(' ')
  try {
    return HDNodeWallet.fromMnemonic(Mnemonic.fromPhrase(phrase), hdPath).privateKey as Hex
  } catch (error) {
    // ethers says which rule is broken, and at which word, by its place alone.
    const { shortMessage } = error as { shortMessage?: unknown }
    const why = typeof shortMessage === 'string' ? shortMessage : 'it cannot be read'
    throw new Refusal(`${place} holds no mnemonic (12 to 24 English words, BIP-39): ${why}.`)
  }
}
