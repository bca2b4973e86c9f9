"""AlexNet of the convnet benchmarks: one column, no normalisation."""
import torch.nn as nn

from train import train


class AlexNet(nn.Module):
    def __init__(self, channels, maps, classes):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, maps(64), 11, stride=4, padding=2)
        self.conv2 = nn.Conv2d(maps(64), maps(192), 5, padding=2)
        self.conv3 = nn.Conv2d(maps(192), maps(384), 3, padding=1)
        self.conv4 = nn.Conv2d(maps(384), maps(256), 3, padding=1)
        self.conv5 = nn.Conv2d(maps(256), maps(256), 3, padding=1)
        self.pool = nn.MaxPool2d(3, stride=2)
        self.relu = nn.ReLU(inplace=True)
        self.hidden = nn.Threshold(0, 1e-6)
        self.fc6 = nn.LazyLinear(maps(4096))
        self.fc7 = nn.Linear(maps(4096), maps(4096))
        self.fc8 = nn.Linear(maps(4096), classes)

    def forward(self, x):
        x = self.pool(self.relu(self.conv1(x)))
        x = self.pool(self.relu(self.conv2(x)))
        x = self.relu(self.conv3(x))
        x = self.relu(self.conv4(x))
        x = self.pool(self.relu(self.conv5(x)))
        x = self.hidden(self.fc6(x.flatten(1)))
        return self.fc8(self.hidden(self.fc7(x)))


if __name__ == "__main__":
    train(AlexNet, side=224)
