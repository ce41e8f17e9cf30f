import { createHash, timingSafeEqual } from 'node:crypto'

const digest = (text: string) => createHash('sha256').update(text).digest()

/** Who it is that sends this header, of `name:key,name:key`; undefined for a stranger. */
export function callersOf(keys: string): (authorization: string | undefined) => string | undefined {
  const callers = keys.split(',').map((pair) => {
    const [, name, key] = /^\s*([\w-]+):(\S+)\s*$/.exec(pair) ?? []
    if (name === undefined || key === undefined) throw new Error('API_KEYS has to be name:key,name:key')
    return { name, key: digest(key) }
  })
  return (authorization = '') => {
    const given = digest(authorization.replace(/^Bearer /, ''))
    return callers.find(({ key }) => timingSafeEqual(key, given))?.name
  }
}
