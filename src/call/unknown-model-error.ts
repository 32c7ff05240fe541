// Builds the error for an id that belongs to no route and no provider.
import { GatewayError } from '../core/errors.ts'

export function unknownModel(model: string): GatewayError {
  const message = `No route and no provider/model is called ${JSON.stringify(model)}; GET /v1/models lists what there is.`
  return new GatewayError('model_not_found', message, { param: 'model' })
}
