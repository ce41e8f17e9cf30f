import type { EndpointProfile, ProfileWatch } from '../../rpc/profile.js'
import type { Shared } from '../environment.js'

type Delivery = EndpointProfile['delivery']

const URLS_MAX = 256

/**
 * A lane at a URL begins with what deliveries of this process have shown there, also where their sender is closed. A
 * transport without a URL is never recognised again.
 */
export function shareDeliveries(
  { deliveries }: Shared,
  url: string | undefined,
  profile: ProfileWatch,
): void {
  if (url === undefined) return
  const known = deliveries.get(url) as Delivery | undefined
  if (known !== undefined) profile.observe({ kind: 'delivered', delivery: known })
  profile.onChange(({ before, now }) => {
    // What a client is known for is not what was seen here: another one may answer at this URL next time.
    if (now.delivery === before.delivery || now.client !== before.client) return
    deliveries.delete(url)
    deliveries.set(url, now.delivery)
    const [oldest = url] = deliveries.keys()
    if (deliveries.size > URLS_MAX) deliveries.delete(oldest)
  })
}
