// A context in a field.
import RenderStack

struct Keeper: ~Copyable {  // expected-note {{consider adding '~Escapable' to struct 'Keeper'}}
    var context: RenderContext  // expected-error {{the '_read' accessor cannot return a ~Escapable result}} expected-error {{the '_modify' accessor cannot return a ~Escapable result}} expected-error {{stored property 'context' of 'Escapable'-conforming struct 'Keeper' has non-Escapable type 'RenderContext'}}
}
