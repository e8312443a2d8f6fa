/** An error in one panel is shown there and leaves the others alone. */
import { Component, type ReactNode } from "react";
import { Empty } from "../ui/empty";

interface Props {
  title: string;
  children: ReactNode;
}

export class PanelBoundary extends Component<Props, { message: string | null }> {
  state = { message: null };

  static getDerivedStateFromError(error: unknown) {
    return { message: error instanceof Error ? error.message : String(error) };
  }

  render() {
    if (this.state.message === null) return this.props.children;
    return (
      <Empty>
        {this.props.title} cannot be shown: {this.state.message}{" "}
        <button type="button" className="underline" onClick={() => this.setState({ message: null })}>
          Try again
        </button>
      </Empty>
    );
  }
}
